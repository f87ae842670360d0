/**
 * {@code ./batchweave demo}: the main job, end to end, with real processes, and a verdict that it
 * really checked.
 *
 * <p>Where to start: {@link io.batchweave.demo.Demo} runs the processes and kills some of them,
 * {@link io.batchweave.demo.RankReport} is what a rank writes down of each step, {@link
 * io.batchweave.demo.Verdict} compares input files, stream and reports.
 */
package io.batchweave.demo;
