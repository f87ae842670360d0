package io.batchweave.log;

import io.batchweave.Bytes;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Mixes values into 64-bit hashes for the fingerprints of states and machines: by value through
 * records, collections and bytes, every bit of them, never through a {@code hashCode} of 32 bits.
 * Equal in every process.
 */
public final class Fingerprint {
  private static final long SEED = 0x9E3779B97F4A7C15L;

  private static final ClassValue<Method[]> ACCESSORS =
      new ClassValue<>() {
        @Override
        protected Method[] computeValue(Class<?> type) {
          RecordComponent[] components = type.getRecordComponents();
          Method[] accessors = new Method[components.length];
          for (int i = 0; i < components.length; i++) {
            accessors[i] = components[i].getAccessor();
            accessors[i].setAccessible(true);
          }
          return accessors;
        }
      };

  private static final ClassValue<Long> NAMES =
      new ClassValue<>() {
        @Override
        protected Long computeValue(Class<?> type) {
          return hash(type.getName());
        }
      };

  private Fingerprint() {}

  /**
   * A hash of values in this order.
   *
   * @param values null, numbers, booleans, enums, strings, {@link UUID}, {@link Bytes}, exceptions
   *     (by their message), and records, collections and maps of those
   * @throws IllegalArgumentException for anything else: it might not hash by value
   */
  public static long of(@Nullable Object... values) {
    long hash = SEED;
    for (Object value : values) {
      hash = add(hash, hash(value));
    }
    return hash;
  }

  /**
   * Mixes one more value into a hash.
   *
   * @param hash so far
   * @param value what is added
   */
  public static long add(long hash, long value) {
    long z = (Long.rotateLeft(hash, 23) ^ value) * 0xBF58476D1CE4E5B9L + SEED;
    z = (z ^ (z >>> 29)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 32);
  }

  private static long hash(@Nullable Object value) {
    return switch (value) {
      case null -> 0;
      case Long number -> number;
      case Integer number -> number;
      case Boolean bool -> bool ? 1 : 2;
      case String text -> hash(text);
      case Enum<?> constant -> hash(constant.name());
      case UUID id -> add(add(SEED, id.getMostSignificantBits()), id.getLeastSignificantBits());
      case Bytes bytes -> hash(bytes.asByteBuffer());
      case Record record -> hash(record);
      case Map<?, ?> map -> hash(map);
      case Set<?> set -> unordered(set);
      case Collection<?> list -> ordered(list);
      case Throwable thrown -> of(thrown.getClass().getName(), thrown.getMessage());
      default ->
          throw new IllegalArgumentException("has no fingerprint: " + value.getClass().getName());
    };
  }

  private static long hash(String text) {
    long hash = add(SEED, text.length());
    for (int i = 0; i < text.length(); i++) {
      hash = add(hash, text.charAt(i));
    }
    return hash;
  }

  private static long hash(ByteBuffer bytes) {
    long hash = add(SEED, bytes.remaining());
    while (bytes.remaining() >= Long.BYTES) {
      hash = add(hash, bytes.getLong());
    }
    while (bytes.hasRemaining()) {
      hash = add(hash, bytes.get());
    }
    return hash;
  }

  private static long hash(Record record) {
    long hash = NAMES.get(record.getClass());
    try {
      for (Method accessor : ACCESSORS.get(record.getClass())) {
        hash = add(hash, hash(accessor.invoke(record)));
      }
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalArgumentException("has no fingerprint: " + record.getClass().getName(), e);
    }
    return hash;
  }

  private static long hash(Map<?, ?> map) {
    long sum = map.size();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      sum += add(add(SEED, hash(entry.getKey())), hash(entry.getValue()));
    }
    return sum;
  }

  private static long unordered(Set<?> set) {
    long sum = set.size();
    for (Object element : set) {
      sum += add(SEED, hash(element));
    }
    return sum;
  }

  private static long ordered(Collection<?> list) {
    long hash = add(SEED, list.size());
    for (Object element : list) {
      hash = add(hash, hash(element));
    }
    return hash;
  }
}
