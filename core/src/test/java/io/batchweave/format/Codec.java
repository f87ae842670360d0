package io.batchweave.format;

import io.batchweave.Bytes;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;

/** The codecs as one table, so that every test of one is a test of all. */
record Codec<T>(
    String name, T sample, Function<T, byte[]> encoder, BiFunction<String, Bytes, T> decoder) {

  byte[] encoded() {
    return encoder.apply(sample);
  }

  T decode(byte[] bytes) {
    return decoder.apply("some/object", Bytes.copyOf(bytes));
  }

  /** Decodes and encodes again. */
  byte[] again(byte[] bytes) {
    return encoder.apply(decode(bytes));
  }

  @Override
  public String toString() {
    return name;
  }

  static List<Codec<?>> all() {
    return List.of(
        new Codec<>("stream", Samples.stream(), StreamCodec::encode, StreamCodec::decode),
        new Codec<>(
            "version",
            ManifestCodec.decode(
                "v", Bytes.wrap(ManifestCodec.encode(Samples.header(), Samples.blocks()))),
            v -> ManifestCodec.encode(v.header(), v.blocks()),
            ManifestCodec::decode),
        new Codec<>(
            "announcement",
            new Announcement(Samples.STREAM, Samples.produce()),
            AnnouncementCodec::encode,
            AnnouncementCodec::decode),
        new Codec<>("snapshot", Samples.snapshot(), SnapshotCodec::encode, SnapshotCodec::decode),
        new Codec<>("segment", Samples.segment(), SegmentCodec::encode, SegmentCodec::decode));
  }
}
