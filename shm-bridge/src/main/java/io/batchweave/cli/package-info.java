/**
 * One class per command of {@code ./batchweave}; no logic. {@link io.batchweave.cli.Main} maps
 * errors to one line and an exit code.
 */
package io.batchweave.cli;
