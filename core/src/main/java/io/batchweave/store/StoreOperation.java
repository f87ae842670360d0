package io.batchweave.store;

/** What is asked of an {@link ObjectStore}; errors, meters and faults name it. */
public enum StoreOperation {
  /** {@link ObjectStore#putIfAbsent}. */
  PUT_IF_ABSENT("putIfAbsent", true),
  /** {@link ObjectStore#put}. */
  PUT("put", true),
  /** {@link ObjectStore#get}. */
  GET("get", false),
  /** {@link ObjectStore#getInto}. */
  GET_INTO("getInto", false),
  /** {@link ObjectStore#head}. */
  HEAD("head", false),
  /** {@link ObjectStore#list}; one page of it where a store counts or fails pages. */
  LIST("list", false),
  /** {@link ObjectStore#delete}. */
  DELETE("delete", true);

  private final String label;
  private final boolean mutating;

  StoreOperation(String label, boolean mutating) {
    this.label = label;
    this.mutating = mutating;
  }

  /** The name as it appears in messages and metrics. */
  public String label() {
    return label;
  }

  /** Whether it changes the store. */
  public boolean mutating() {
    return mutating;
  }
}
