package io.batchweave.format;

/** Names. */
public final class ObjectNames {
  private ObjectNames() {}

  /** Data. */
  public static String data(DataObject object) {
    return object.toString();
  }

  /** State. */
  public static String state(DataObject object) {
    return object.toString();
  }
}
