package io.batchweave.bridge.ring;

/**
 * What a rank has written about the generation it is attached to. A file that is not attached, or
 * attached to another generation than the daemon put it in, says {@code taken} 0 and no acks.
 */
public interface ReaderView {
  /** What a reader file says that is not there. */
  ReaderView GONE =
      new ReaderView() {
        @Override
        public boolean isAttached() {
          return false;
        }

        @Override
        public long taken() {
          return 0;
        }

        @Override
        public boolean isAcked(long n) {
          return false;
        }
      };

  /** Whether the file says that it is attached to the generation that the daemon put it in. */
  boolean isAttached();

  /** n + 1 of the last step taken, as the rank wrote it: unchecked. */
  long taken();

  /** Whether the rank released step n. */
  boolean isAcked(long n);
}
