/** Everything that extends the log: building, offering and judging versions. */
package io.batchweave.commit;
