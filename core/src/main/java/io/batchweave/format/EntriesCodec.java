package io.batchweave.format;

import io.batchweave.format.sbe.EntriesDecoder;
import io.batchweave.format.sbe.EntriesEncoder;
import io.batchweave.format.sbe.MessageHeaderEncoder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.agrona.ExpandableArrayBuffer;

/**
 * TGB entries with a table of the data objects they lie in, in order of first use. Offsets of
 * slices are not recorded: the layout determines them.
 */
final class EntriesCodec {
  private static final int OBJECT_BYTES = EntriesDecoder.ObjectsDecoder.sbeBlockLength();
  private static final int TGB_BYTES = EntriesDecoder.TgbsDecoder.sbeBlockLength();
  private static final int SLICE_BYTES = EntriesDecoder.TgbsDecoder.SlicesDecoder.sbeBlockLength();

  private EntriesCodec() {}

  /** Length of an entry; its slices are recorded up to a number. */
  static int entryLength(int slices) {
    return TGB_BYTES + 6 + (slices > Limits.INLINE_SLICES ? 0 : slices * SLICE_BYTES);
  }

  /** Length of what says which object entries lie in. */
  static int objectLength(String producer) {
    return OBJECT_BYTES + WireBounds.afterName(0, producer);
  }

  static byte[] encode(List<TgbEntry> entries) {
    Map<DataObject, Integer> objects = new LinkedHashMap<>();
    for (TgbEntry entry : entries) {
      objects.putIfAbsent(entry.object(), objects.size());
    }
    ExpandableArrayBuffer buffer = new ExpandableArrayBuffer(256 + entries.size() * 256);
    EntriesEncoder encoder = new EntriesEncoder();
    encoder.wrapAndApplyHeader(buffer, 0, new MessageHeaderEncoder());
    EntriesEncoder.ObjectsEncoder table = encoder.objectsCount(objects.size());
    for (DataObject object : objects.keySet()) {
      table
          .next()
          .firstSeq(object.firstSeq())
          .random(object.random())
          .epoch(object.epoch())
          .seqCount((int) (object.lastSeq() - object.firstSeq() + 1))
          .producer(object.producer());
    }
    EntriesEncoder.TgbsEncoder tgbs = encoder.tgbsCount(entries.size());
    for (TgbEntry entry : entries) {
      int index = objects.getOrDefault(entry.object(), -1);
      tgbs.next()
          .offset(entry.offset())
          .lengthBytes(entry.lengthBytes())
          .objectIndex(index)
          .seqIndex((int) (entry.seq() - entry.object().firstSeq()))
          .footerLengthBytes(entry.footerLengthBytes())
          .footerCrc32c(entry.footerCrc32c())
          .microBatches(entry.slices().isEmpty() ? 0 : entry.slices().getFirst().microBatches());
      EntriesEncoder.TgbsEncoder.SlicesEncoder slices = tgbs.slicesCount(entry.slices().size());
      for (SliceEntry slice : entry.slices()) {
        slices
            .next()
            .lengthBytes(slice.lengthBytes())
            .crc32c(slice.crc32c())
            .samples(slice.samples())
            .tokens(slice.tokens());
      }
    }
    byte[] bytes = new byte[encoder.limit()];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  /** Decodes all of the bounds. */
  static List<TgbEntry> decode(WireBounds bounds, int at, int entryLimit) {
    EntriesDecoder decoder = new EntriesDecoder();
    int body =
        bounds.message(
            at,
            EntriesDecoder.TEMPLATE_ID,
            EntriesDecoder.BLOCK_LENGTH,
            EntriesDecoder.SCHEMA_ID,
            EntriesDecoder.SCHEMA_VERSION);
    decoder.wrap(bounds.buffer(), body, EntriesDecoder.BLOCK_LENGTH, EntriesDecoder.SCHEMA_VERSION);
    List<DataObject> objects = objects(bounds, decoder, entryLimit);
    int count = bounds.group(decoder.limit(), TGB_BYTES, TGB_BYTES + 6, entryLimit, "tgbs");
    List<TgbEntry> entries = new ArrayList<>(count);
    EntriesDecoder.TgbsDecoder tgbs = decoder.tgbs();
    int objectsUsed = 0;
    for (int i = 0; i < count; i++) {
      int start = decoder.limit();
      bounds.element(start, TGB_BYTES, "tgbs");
      tgbs.next();
      int index = tgbs.objectIndex();
      if (index < 0 || index >= objects.size() || index > objectsUsed) {
        throw bounds.corrupt(start, "entry names an object out of order: objectIndex=" + index);
      }
      objectsUsed = Math.max(objectsUsed, index + 1);
      TgbEntry entry = entry(bounds, decoder, tgbs, objects.get(index));
      bounds.accept(start, Rules.entry(entry));
      if (entry.slices().isEmpty() && tgbs.microBatches() != 0) {
        throw bounds.corrupt(start, "micro-batches without slices");
      }
      entries.add(entry);
    }
    if (objectsUsed != objects.size()) {
      throw bounds.corrupt(at, "objects that no entry uses: objects=" + objects.size());
    }
    bounds.requireEnd(decoder.limit());
    return entries;
  }

  private static List<DataObject> objects(
      WireBounds bounds, EntriesDecoder decoder, int entryLimit) {
    int count =
        bounds.group(decoder.limit(), OBJECT_BYTES, OBJECT_BYTES + 2, entryLimit, "objects");
    List<DataObject> objects = new ArrayList<>(count);
    EntriesDecoder.ObjectsDecoder table = decoder.objects();
    for (int i = 0; i < count; i++) {
      int start = decoder.limit();
      bounds.element(start, OBJECT_BYTES, "objects");
      table.next();
      long first = table.firstSeq();
      String producer = bounds.name(decoder.limit(), "producer");
      DataObject object =
          new DataObject(
              producer, table.epoch(), first, first + table.seqCount() - 1, table.random());
      decoder.limit(WireBounds.afterName(decoder.limit(), producer));
      bounds.accept(start, Rules.object(object));
      objects.add(object);
    }
    return objects;
  }

  private static TgbEntry entry(
      WireBounds bounds,
      EntriesDecoder decoder,
      EntriesDecoder.TgbsDecoder tgb,
      DataObject object) {
    int count =
        bounds.group(decoder.limit(), SLICE_BYTES, SLICE_BYTES, Limits.INLINE_SLICES, "slices");
    List<SliceEntry> slices = new ArrayList<>(count);
    EntriesDecoder.TgbsDecoder.SlicesDecoder table = tgb.slices();
    long offset = tgb.offset();
    for (int i = 0; i < count; i++) {
      table.next();
      slices.add(
          new SliceEntry(
              offset,
              table.lengthBytes(),
              table.crc32c(),
              tgb.microBatches(),
              table.samples(),
              table.tokens()));
      offset += table.lengthBytes() + TgbLayout.paddingAfter(table.lengthBytes());
    }
    return new TgbEntry(
        object,
        object.firstSeq() + tgb.seqIndex(),
        tgb.offset(),
        tgb.lengthBytes(),
        tgb.footerLengthBytes(),
        tgb.footerCrc32c(),
        slices);
  }
}
