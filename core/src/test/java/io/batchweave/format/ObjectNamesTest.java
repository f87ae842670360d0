package io.batchweave.format;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ObjectNamesTest {
  private static final String DATA =
      "data/58/web-3/0000000002.00000000000000000010-00000000000000000012.00000000000000ff";

  @Test
  void shouldNameEveryObjectAsPinned() {
    assertEquals("stream", ObjectNames.STREAM);
    assertEquals("manifest/000000000000001/00000000000000000700", ObjectNames.version(700));
    assertEquals("manifest/000000000000000/00000000000000000511", ObjectNames.version(511));
    assertEquals("manifest/000000000000001/", ObjectNames.versionGroup(512));
    assertEquals("snapshot/00000000000000000128", ObjectNames.snapshot(128));
    assertEquals("index/00000000000000000003", ObjectNames.segment(3));
    assertEquals("announce/000000000000010/", ObjectNames.announceGroup(700));
    assertEquals(DATA + ".tgb", ObjectNames.data(Samples.OBJECT));
    assertEquals(DATA + ".state", ObjectNames.state(Samples.OBJECT));
  }

  @Test
  void shouldReadItsOwnNames() {
    long farVersion = 511_999_999_999_999_999L;
    assertEquals(
        OptionalLong.of(farVersion), ObjectNames.parseVersion(ObjectNames.version(farVersion)));
    assertEquals(OptionalLong.of(128), ObjectNames.parseSnapshot("snapshot/00000000000000000128"));
    assertEquals(OptionalLong.of(3), ObjectNames.parseSegment("index/00000000000000000003"));
    assertEquals(Samples.OBJECT, ObjectNames.parseData(DATA + ".tgb"));
    assertEquals(Samples.OBJECT, ObjectNames.parseState(DATA + ".state"));
    DataObject far =
        new DataObject("a", Integer.MAX_VALUE, 0, Long.MAX_VALUE, 0xFFFF_FFFF_FFFF_FFFFL);
    assertEquals(far, ObjectNames.parseData(ObjectNames.data(far)));
  }

  @Test
  void shouldNameAndReadAnnouncements() {
    assertAnnounced(
        "p.web-3.0000000002.00000000000000000010-00000000000000000011",
        Samples.produce(),
        new AnnouncementName.Produce("web-3", 2, 10, 11));
    assertAnnounced(
        "f.web-3.0000000002.00112233445566778899aabbccddeeff",
        new Block.Fence("web-3", 2, Samples.STREAM),
        new AnnouncementName.Fence("web-3", 2, Samples.STREAM));
    assertOperator(
        "o.session.run7.run7-0.00000000000000000042",
        new Block.OpenSession("run7", "run7-0", 12, Block.Takeover.REFUSE, 42));
    assertOperator(
        "o.supersede.run7.run7-0.00000000000000000042",
        new Block.OpenSession("run7", "run7-0", 12, Block.Takeover.SUPERSEDE, 42));
    assertOperator(
        "o.end.run7.run7-0.00000000000000000043", new Block.EndSession("run7", "run7-0", 43));
    assertOperator(
        "o.pin.run7.9.ckpt.00000000000000000100",
        new Block.Pin("run7", "run7-0", 9, "ckpt", 100, 3));
    assertOperator(
        "o.hold.run7.keep.50.00000000000000000007", new Block.OperatorPin("run7", "keep", 50, 7));
    assertOperator("o.unpin.run7.keep.00000000000000000008", new Block.Unpin("run7", "keep", 8));
    assertOperator("o.skip.stream.20-22.00000000000000000001", new Block.Skip(20, 22, 1));
    assertOperator("o.reclaim.stream.16.00000000000000000001", new Block.Reclaim(16, 1));
    assertOperator("o.retire.web-3.final.00000000000000000009", new Block.Retire("web-3", 9));
    assertOperator("o.seal.stream.end.00000000000000000000", new Block.Seal());
  }

  @Test
  void shouldLeaveForeignKeysAlone() {
    for (String key :
        List.of(
            "",
            "manifest/000000000000000/00000000000000000700",
            "manifest/000000000000001/00000000000000000700.tmp",
            "manifest/000000000000001/0000000000000000700",
            "manifest/99999999999999999999",
            "snapshot/99999999999999999999",
            "snapshot/-0000000000000000001",
            "index/",
            "data/00/web-3/0000000002.00000000000000000010-00000000000000000012.00000000000000ff.tgb",
            DATA,
            DATA + ".tgb.part",
            DATA.replace("web-3", "WEB-3") + ".tgb",
            "announce/000000000000010/p.web-3.0000000002.00000000000000000012-00000000000000000010",
            "announce/000000000000010/p.web-3.0000000000.00000000000000000010-00000000000000000012",
            "announce/000000000000010/f.web-3.0000000002.zz",
            "announce/000000000000010/x.y")) {
      assertTrue(ObjectNames.parseVersion(key).isEmpty(), key);
      assertTrue(ObjectNames.parseSnapshot(key).isEmpty(), key);
      assertTrue(ObjectNames.parseSegment(key).isEmpty(), key);
      assertNull(ObjectNames.parseData(key), key);
      assertNull(ObjectNames.parseState(key), key);
      assertNull(ObjectNames.parseAnnouncement(key), key);
    }
    assertNull(ObjectNames.parseData(DATA + ".state"));
    assertNull(ObjectNames.parseState(DATA + ".tgb"));
  }

  @Test
  void shouldRefuseNegativeNumbers() {
    assertThrows(IllegalArgumentException.class, () -> ObjectNames.snapshot(-1));
  }

  @Test
  void shouldSpreadDataOverPrefixes() {
    long prefixes =
        LongStream.range(0, 4096)
            .mapToObj(
                seq -> ObjectNames.data(new DataObject("p", 1, seq, seq, seq)).substring(5, 7))
            .distinct()
            .count();
    assertEquals(256, prefixes);
  }

  private static void assertAnnounced(String name, Block block, AnnouncementName parsed) {
    String key = "announce/000000000000010/" + name;
    assertEquals(key, ObjectNames.announcement(700, block));
    assertEquals(parsed, ObjectNames.parseAnnouncement(key));
  }

  private static void assertOperator(String name, Block block) {
    String[] parts = name.split("\\.", -1);
    assertAnnounced(
        name,
        block,
        new AnnouncementName.Operator(
            parts[1],
            parts[2],
            List.of(parts).subList(3, parts.length - 1),
            Long.parseLong(parts[parts.length - 1])));
  }
}
