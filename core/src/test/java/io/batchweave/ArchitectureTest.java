package io.batchweave;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What may depend on what, and what the protocol packages may not touch. */
class ArchitectureTest {
  /** The packages in their order: one knows only what stands above it. */
  private static final List<String> ORDER =
      List.of(
          "store",
          "format",
          "log",
          "commit",
          "produce",
          "read",
          "retain",
          "client",
          "ingest",
          "verify",
          "simulate");

  /** The packages whose machines are driven from outside. */
  private static final String[] PURE =
      List.of("format", "log", "commit", "produce", "read", "retain", "simulate").stream()
          .map(name -> "io.batchweave." + name + "..")
          .toArray(String[]::new);

  private final JavaClasses classes =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.batchweave");

  @Test
  void shouldKnowOnlyThePackagesAbove() {
    for (int above = 0; above < ORDER.size(); above++) {
      for (int below = above + 1; below < ORDER.size(); below++) {
        noClasses()
            .that()
            .resideInAPackage("io.batchweave." + ORDER.get(above) + "..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.batchweave." + ORDER.get(below) + "..")
            .allowEmptyShould(true)
            .check(classes);
      }
    }
  }

  @Test
  void shouldProbeStoresFromOutsideOnly() {
    noClasses()
        .that()
        .resideInAPackage("io.batchweave.store.probe")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.batchweave.store.file..", "io.batchweave.store.s3..")
        .because("a probe sees what every client sees")
        .check(classes);
    noClasses()
        .that()
        .resideInAnyPackage(
            "io.batchweave.store", "io.batchweave.store.file..", "io.batchweave.store.s3..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.batchweave.store.probe")
        .check(classes);
  }

  @Test
  void shouldKeepTheCommonRuntimeInOnePackage() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.batchweave.store.s3..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("software.amazon.awssdk..")
        .because("SDK types stay behind io.batchweave.store.ObjectStore")
        .check(classes);
  }

  @Test
  void shouldKeepTheLocalS3ServerInOnePackage() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.batchweave.store.s3proxy..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("org.gaul..", "org.jclouds..")
        .because("S3Proxy is optional: tests and the demo reach it through LocalS3")
        .check(classes);
  }

  @Test
  void shouldKeepTheProtocolsFreeOfThreadsClocksAndFiles() {
    noClasses()
        .that()
        .resideInAnyPackage(PURE)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "java.util.concurrent..", "java.nio.file..", "java.time..", "java.net..")
        .orShould()
        .dependOnClassesThat()
        .belongToAnyOf(Thread.class, java.util.Random.class, java.util.random.RandomGenerator.class)
        .because("protocols are machines: time, bits and answers are passed in; see log.Machine")
        .check(classes);
  }

  @Test
  void shouldTakeTheTimeFromAClockThatIsPassedIn() {
    noClasses()
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .because("take an org.agrona.concurrent.NanoClock or EpochClock as an argument")
        .check(classes);
  }

  @Test
  void shouldNeitherSleepNorDrawUnseededRandomNumbers() {
    noClasses()
        .should()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .callMethod(Math.class, "random")
        .because("wait for a condition with a deadline; take a seed as an argument")
        .check(classes);
  }
}
