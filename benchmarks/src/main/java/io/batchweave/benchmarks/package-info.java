/**
 * Is it fast, why, and what is the limit? Start at {@link io.batchweave.benchmarks.Bench}, which
 * {@code ./batchweave bench} runs.
 *
 * <p>A {@link io.batchweave.benchmarks.Bar} is a named figure with a ceiling that is measured in
 * the same run, and usually a goal. There are two kinds:
 *
 * <ul>
 *   <li>programs of their own, which need servers and processes, or simulate: {@code
 *       store-to-ring}, {@code ingest}, {@code kafka-ingest}, {@code amplification}, {@code
 *       flatness}; those in Python, {@code handoff-python}, {@code pytorch-peers}, {@code
 *       end-to-end} and in part {@code attach} and {@code idle-cpu}, run in the tests' environment,
 *       which {@link io.batchweave.benchmarks.PythonEnvironment} finds;
 *   <li>classes of JMH, each method in a JVM of its own, one after the other, by {@link
 *       io.batchweave.benchmarks.JmhBar}; each states its question and its ceiling.
 * </ul>
 *
 * <p>Loaders of others are installed the first time that a bar needs them, into an environment of
 * their own ({@link io.batchweave.benchmarks.PeersEnvironment}); neither build nor tests do.
 *
 * <p>So are the jars of a broker of Apache Kafka ({@link io.batchweave.benchmarks.KafkaBroker},
 * {@code kafka-broker/pom.xml}); Kafka's client is on the class path. {@link
 * io.batchweave.benchmarks.KafkaSettings} has what somebody who knows Kafka would set.
 *
 * <p>Ratios come first: a ceiling is measured interleaved with what it bounds, so that what the
 * machine does meanwhile falls on both; by JMH it is not, so there only a factor says something.
 * Intervals are 95 % bootstrap intervals of the median; those of a ratio are drawn from both sides.
 *
 * <p>Where a run has several bars, each has a JVM of its own ({@link
 * io.batchweave.benchmarks.BarProcess}) and gives the figure that it gives alone. The launcher
 * makes what they need before: the S3 server and the Python environment.
 *
 * <p>A run ends with a table in Markdown below what it was measured on ({@link
 * io.batchweave.benchmarks.Report}), and writes it, the same as JSON, and pictures ({@link
 * io.batchweave.benchmarks.Plot}) into one directory.
 *
 * <p>May depend on everything; nothing depends on it. What has to see package-private parts of the
 * daemon or the rank lies in packages of their names here, on the class path beside them. {@code
 * RESULTS.md} of the module has the last full run and what it means.
 */
package io.batchweave.benchmarks;
