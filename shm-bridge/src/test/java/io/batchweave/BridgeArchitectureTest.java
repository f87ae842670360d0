package io.batchweave;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.slf4j.spi.SLF4JServiceProvider;

/** What may depend on what in the shared-memory bridge. */
class BridgeArchitectureTest {
  private final JavaClasses classes =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.batchweave");

  @Test
  void shouldKeepAeronInTheHandshake() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.batchweave.bridge.handshake..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.aeron..")
        .because("the hand-off of a step needs no Aeron: only attaching does")
        .check(classes);
  }

  @Test
  void shouldKeepForeignCallsInOnePackage() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.batchweave.bridge.memory..")
        .should()
        .dependOnClassesThat()
        .haveFullyQualifiedName("java.lang.foreign.Linker")
        .because("system calls are bound once, in io.batchweave.bridge.memory")
        .check(classes);
  }

  @Test
  void shouldKeepTheCommonRuntimeAndS3ProxyInCore() {
    noClasses()
        .that()
        .resideInAnyPackage("io.batchweave.bridge..", "io.batchweave.cli..", "io.batchweave.demo..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("software.amazon.awssdk..", "org.gaul..", "org.jclouds..")
        .because("stores are opened by io.batchweave.store.Stores")
        .check(classes);
  }

  @Test
  void shouldNotKnowTheCommandsBelowTheBridge() {
    noClasses()
        .that()
        .resideInAPackage("io.batchweave.bridge..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.batchweave.cli..", "io.batchweave.demo..")
        .allowEmptyShould(true)
        .check(classes);
  }

  @Test
  void shouldTakeTheTimeFromAClockThatIsPassedIn() {
    noClasses()
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .callMethod(Math.class, "random")
        .because("take an org.agrona.concurrent.NanoClock, wait for a condition, take a seed")
        .check(classes);
  }

  /** A second one, brought along by a dependency, makes every command print a warning. */
  @Test
  void shouldHaveOneProviderOfLogging() {
    assertEquals(
        List.of("org.slf4j.nop.NOPServiceProvider"),
        ServiceLoader.load(SLF4JServiceProvider.class).stream()
            .map(provider -> provider.type().getName())
            .toList());
  }
}
