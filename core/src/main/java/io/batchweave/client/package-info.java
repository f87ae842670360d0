/** The blocking faces of the protocols, and the agent that drives the machines. */
package io.batchweave.client;
