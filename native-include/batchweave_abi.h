/*
 * The shared-memory ABI of BatchWeave: every byte that the node daemon and a rank share.
 *
 * README.md beside this file is the normative text: who writes what, when, and in which order. This
 * header pins the layout: plain structures with literal offsets, their constants, and the few loads
 * and stores whose ordering is in their name. Header only, no dependency; C99, C11 and C++.
 *
 * Fields are grouped by the process that writes them and groups lie 128 bytes apart. A reader
 * checks whatever a peer wrote before it uses it. Only offsets cross a process boundary.
 */
#ifndef BATCHWEAVE_ABI_H
#define BATCHWEAVE_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the shared-memory ABI is little-endian only"
#endif

#if defined(__cplusplus)
#define BW_STATIC_ASSERT(condition, text) static_assert(condition, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define BW_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#else
#define BW_ASSERT_PASTE(a, b) a##b
#define BW_ASSERT_NAME(line) BW_ASSERT_PASTE(bw_abi_assert_, line)
#define BW_STATIC_ASSERT(condition, text) \
  typedef char BW_ASSERT_NAME(__LINE__)[(condition) ? 1 : -1] __attribute__((unused))
#endif

/* Version of everything below. A client and a daemon that differ in it do not map each other. */
#define BW_ABI_VERSION 1u

/* The first eight bytes of a file or region, as text: BWCTRL01, BWREADR1, BWTABLE1, BWDOORB1. */
#define BW_CONTROL_MAGIC UINT64_C(0x31304c5254435742)
#define BW_READER_MAGIC UINT64_C(0x3152444145525742)
#define BW_TABLE_MAGIC UINT64_C(0x31454c4241545742)
#define BW_DOORBELL_MAGIC UINT64_C(0x3142524f4f445742)

/* Names in the daemon directory. */
#define BW_DAEMON_LOCK_NAME "daemon.lock"
#define BW_DAEMON_JSON_NAME "daemon.json"
#define BW_DOORBELL_NAME "doorbell"
#define BW_DATA_NAME_FORMAT "ring-%u.data"                /* ring number */
#define BW_CONTROL_NAME_FORMAT "ring-%u.%llu.ctl"         /* ring number, generation */
#define BW_READER_NAME_FORMAT "%016llx%016llx.reader"     /* reader_id[0], reader_id[1] */

/* Limits. */
#define BW_MIN_DESCRIPTORS 4u
#define BW_MAX_DESCRIPTORS 1024u /* = slots of the ack array */
#define BW_MAX_COORDINATES 65536u
#define BW_MAX_TABLE_ENTRIES 65536u
#define BW_MAX_HOLD 64u
#define BW_NAME_CHARS 64u
#define BW_TEXT_BYTES 1024u
#define BW_SLICE_ALIGNMENT 64u

/* State word: low byte the state, next byte the reason of CLOSED, upper half zero. */
#define BW_STATE_NEW 0u    /* being prepared; a file that stays so is deleted at the next start */
#define BW_STATE_OPEN 1u   /* steps may be taken */
#define BW_STATE_CLOSED 2u /* nothing may be taken any more; attach again */
#define BW_STATE_OF(word) ((word)&0xffu)
#define BW_REASON_OF(word) (((word) >> 8) & 0xffu)
#define BW_STATE_WORD(state, reason) ((uint32_t)(state) | ((uint32_t)(reason) << 8))

/* Why a generation was closed. */
#define BW_CLOSED_DAEMON_RESTART 1u /* the next daemon found it */
#define BW_CLOSED_COORDINATE 2u     /* a local rank came with another coordinate */
#define BW_CLOSED_OLDER_STEP 3u     /* a local rank asked for an older step */
#define BW_CLOSED_NEW_SESSION 4u    /* a newer launch of the group took the ring */
#define BW_CLOSED_RETRY 5u          /* another try after FAILED */
#define BW_CLOSED_SHUTDOWN 6u       /* the daemon ends in good order */
#define BW_CLOSED_SESSION_END 7u    /* the session ended or was superseded in the manifest */

/* Descriptor kinds. */
#define BW_KIND_READY 1u
#define BW_KIND_FAILED 2u /* last of its generation; failure_text says why */
#define BW_KIND_END 3u    /* last of its generation; the stream is sealed here */

/* Reasons of FAILED: permanent causes only. */
#define BW_FAILED_CORRUPT 1u   /* the object cannot be what was written */
#define BW_FAILED_RECLAIMED 2u /* the step lies below the horizon */
#define BW_FAILED_LIMIT 3u     /* the ring is too small for the step: the text says by how much */
#define BW_FAILED_MISSING 4u   /* the data object does not exist */
#define BW_FAILED_CONFIG 5u    /* refused: credentials, grid, settings */
#define BW_FAILED_TOO_NEW 6u   /* a newer format */
#define BW_FAILED_FENCED 7u    /* the session was superseded or ended */

/* seq and ack values of the n-th step of a generation. */
#define BW_SEQ_VOID UINT64_C(0) /* the fields beside it are being rewritten or were never written */
#define BW_SEQ_ALLOCATED(n) (2u * (uint64_t)(n) + 1u)
#define BW_SEQ_PUBLISHED(n) (2u * (uint64_t)(n) + 2u)
#define BW_ACK_RELEASED(n) (2u * (uint64_t)(n) + 2u)

/* ---- ring-<n>.<generation>.ctl: written by the daemon only, mapped read-only by ranks ---------- */

typedef struct bw_control {
  /* Group 1: written before OPEN, constant afterwards. */
  uint64_t magic;
  uint32_t abi_version;
  uint32_t page_size;          /* regions start and end on multiples of it */
  uint64_t file_length;        /* of this file */
  uint64_t ring_length;        /* of ring-<n>.data */
  uint64_t ring_inode;         /* of ring-<n>.data */
  uint64_t generation;         /* the number in the name; grows */
  uint64_t generation_id[2];   /* 128 random bits, repeated in Welcome */
  uint64_t first_step;         /* the step of n = 0 */
  uint32_t ring_number;
  uint32_t descriptor_count;   /* N, a power of two */
  uint32_t hold;               /* leases a rank may keep while it asks for the next step */
  uint32_t local_readers;      /* readers announced in Hello */
  uint64_t stream_id[2];       /* the stream's UUID, most significant half first */
  uint64_t session_version;    /* manifest version of the session block: the session's view */
  uint32_t dp_size;            /* grid of the session's ranks */
  uint32_t cp_size;
  uint32_t coordinate_count;   /* slices of each region, listed behind the descriptors */
  uint32_t reserved_1;
  uint8_t group[64];           /* NUL-padded */
  uint8_t session[64];         /* NUL-padded */

  /* Group 2: the state word. */
  uint32_t state;
  uint8_t reserved_2[124];

  /* Group 3: the futex word: incremented after each store of seq, state or status. */
  uint32_t wake;
  uint8_t reserved_3[124];

  /* Group 4: status, consistent under status_seq (odd while it changes). */
  uint32_t status_seq;
  uint32_t trouble_length;     /* bytes of trouble_text; 0 = none */
  uint64_t blocked_bytes;      /* of the next step, when it does not fit; 0 = not blocked */
  uint64_t blocked_step;
  uint64_t blocked_reader[2];  /* reader_id of the slowest reader, whose leases are in the way */
  uint64_t blocked_reader_steps; /* from its lowest unreleased one up to blocked_step */
  uint64_t published_count;    /* n of the next descriptor to be published in order */
  uint64_t allocated_count;    /* n of the next descriptor to be allocated */
  uint64_t used_bytes;         /* of the ring: allocated, kept or leased */
  uint32_t unfinished_fetches;
  uint32_t failure_length;     /* bytes of failure_text, stored before the FAILED descriptor */
  uint8_t reserved_4[48];
  uint8_t trouble_text[1024];  /* the last retryable trouble, UTF-8 */
  uint8_t failure_text[1024];  /* why the last descriptor is FAILED, UTF-8 */
  uint8_t reserved_5[1408];

  /* At 4096: descriptor_count descriptors, then coordinate_count coordinates. */
} bw_control;

typedef struct bw_descriptor {
  uint64_t seq;       /* BW_SEQ_VOID, BW_SEQ_ALLOCATED(n) or BW_SEQ_PUBLISHED(n) */
  uint64_t step;
  uint64_t next_step; /* the step after it for this session: skips are passed over */
  uint64_t offset;    /* of the region in ring-<n>.data, a multiple of page_size */
  uint64_t length;    /* of the region, a multiple of page_size; not used for FAILED and END */
  uint32_t kind;      /* BW_KIND_..., valid once published */
  uint32_t reason;    /* BW_FAILED_... of FAILED, else 0 */
  uint8_t reserved[80];
} bw_descriptor;

typedef struct bw_coordinate {
  uint32_t dp; /* in the stream's grid */
  uint32_t cp;
} bw_coordinate;

#define BW_DESCRIPTORS_OFFSET 4096u
#define BW_DESCRIPTOR_LENGTH 128u
#define BW_COORDINATE_LENGTH 8u

BW_STATIC_ASSERT(sizeof(bw_control) == 4096, "bw_control");
BW_STATIC_ASSERT(offsetof(bw_control, magic) == 0, "magic");
BW_STATIC_ASSERT(offsetof(bw_control, abi_version) == 8, "abi_version");
BW_STATIC_ASSERT(offsetof(bw_control, page_size) == 12, "page_size");
BW_STATIC_ASSERT(offsetof(bw_control, file_length) == 16, "file_length");
BW_STATIC_ASSERT(offsetof(bw_control, ring_length) == 24, "ring_length");
BW_STATIC_ASSERT(offsetof(bw_control, ring_inode) == 32, "ring_inode");
BW_STATIC_ASSERT(offsetof(bw_control, generation) == 40, "generation");
BW_STATIC_ASSERT(offsetof(bw_control, generation_id) == 48, "generation_id");
BW_STATIC_ASSERT(offsetof(bw_control, first_step) == 64, "first_step");
BW_STATIC_ASSERT(offsetof(bw_control, ring_number) == 72, "ring_number");
BW_STATIC_ASSERT(offsetof(bw_control, descriptor_count) == 76, "descriptor_count");
BW_STATIC_ASSERT(offsetof(bw_control, hold) == 80, "hold");
BW_STATIC_ASSERT(offsetof(bw_control, local_readers) == 84, "local_readers");
BW_STATIC_ASSERT(offsetof(bw_control, stream_id) == 88, "stream_id");
BW_STATIC_ASSERT(offsetof(bw_control, session_version) == 104, "session_version");
BW_STATIC_ASSERT(offsetof(bw_control, dp_size) == 112, "dp_size");
BW_STATIC_ASSERT(offsetof(bw_control, cp_size) == 116, "cp_size");
BW_STATIC_ASSERT(offsetof(bw_control, coordinate_count) == 120, "coordinate_count");
BW_STATIC_ASSERT(offsetof(bw_control, group) == 128, "group");
BW_STATIC_ASSERT(offsetof(bw_control, session) == 192, "session");
BW_STATIC_ASSERT(offsetof(bw_control, state) == 256, "state");
BW_STATIC_ASSERT(offsetof(bw_control, wake) == 384, "wake");
BW_STATIC_ASSERT(offsetof(bw_control, status_seq) == 512, "status_seq");
BW_STATIC_ASSERT(offsetof(bw_control, trouble_length) == 516, "trouble_length");
BW_STATIC_ASSERT(offsetof(bw_control, blocked_bytes) == 520, "blocked_bytes");
BW_STATIC_ASSERT(offsetof(bw_control, blocked_step) == 528, "blocked_step");
BW_STATIC_ASSERT(offsetof(bw_control, blocked_reader) == 536, "blocked_reader");
BW_STATIC_ASSERT(offsetof(bw_control, blocked_reader_steps) == 552, "blocked_reader_steps");
BW_STATIC_ASSERT(offsetof(bw_control, published_count) == 560, "published_count");
BW_STATIC_ASSERT(offsetof(bw_control, allocated_count) == 568, "allocated_count");
BW_STATIC_ASSERT(offsetof(bw_control, used_bytes) == 576, "used_bytes");
BW_STATIC_ASSERT(offsetof(bw_control, unfinished_fetches) == 584, "unfinished_fetches");
BW_STATIC_ASSERT(offsetof(bw_control, failure_length) == 588, "failure_length");
BW_STATIC_ASSERT(offsetof(bw_control, trouble_text) == 640, "trouble_text");
BW_STATIC_ASSERT(offsetof(bw_control, failure_text) == 1664, "failure_text");
BW_STATIC_ASSERT(sizeof(bw_descriptor) == 128, "bw_descriptor");
BW_STATIC_ASSERT(offsetof(bw_descriptor, seq) == 0, "seq");
BW_STATIC_ASSERT(offsetof(bw_descriptor, step) == 8, "step");
BW_STATIC_ASSERT(offsetof(bw_descriptor, next_step) == 16, "next_step");
BW_STATIC_ASSERT(offsetof(bw_descriptor, offset) == 24, "offset");
BW_STATIC_ASSERT(offsetof(bw_descriptor, length) == 32, "length");
BW_STATIC_ASSERT(offsetof(bw_descriptor, kind) == 40, "kind");
BW_STATIC_ASSERT(offsetof(bw_descriptor, reason) == 44, "reason");
BW_STATIC_ASSERT(sizeof(bw_coordinate) == 8, "bw_coordinate");
BW_STATIC_ASSERT(offsetof(bw_coordinate, dp) == 0, "dp");
BW_STATIC_ASSERT(offsetof(bw_coordinate, cp) == 4, "cp");

/* ---- <random128>.reader: written by one rank only, carries its lock --------------------------- */

typedef struct bw_reader {
  /* Group 1: written before Hello, constant afterwards; magic is stored last. */
  uint64_t magic;
  uint32_t abi_version;
  uint32_t pid;             /* for people; never used to judge whether the rank lives */
  uint64_t file_length;     /* BW_READER_LENGTH */
  uint64_t reader_id[2];    /* the 128 bits of the name */
  uint64_t previous_id[2];  /* the reader file this attachment replaces; 0 = none */
  uint32_t dp;              /* coordinate of the rank */
  uint32_t cp;
  uint32_t dp_size;
  uint32_t cp_size;
  uint32_t local_readers;
  uint32_t ack_capacity;    /* BW_MAX_DESCRIPTORS */
  uint32_t rank;            /* global rank, for people; 0xffffffff = unknown */
  uint8_t reserved_1[44];

  /* Group 2: written once, after Welcome and before the first taken; attached is stored last. */
  uint32_t attached;        /* 1 once the fields beside it hold */
  uint32_t ring_number;
  uint64_t generation;
  uint64_t generation_id[2];
  uint64_t first_n;         /* from Welcome: everything below counts as acked */
  uint8_t reserved_2[88];

  /* Group 3: n + 1 of the last step taken; first_n when none. */
  uint64_t taken;
  uint8_t reserved_3[120];

  /* Group 4: the wait word: n + 1 of the step waited for, 0 when not waiting; for status only. */
  uint64_t waiting;
  uint64_t pulse;           /* counts the takes; for the rank itself */
  uint8_t reserved_4[112];

  /* Group 5: ack[n mod N] = BW_ACK_RELEASED(n) once the step is released, in any order. */
  uint64_t ack[1024];
} bw_reader;

#define BW_READER_LENGTH 8704u

BW_STATIC_ASSERT(sizeof(bw_reader) == 8704, "bw_reader");
BW_STATIC_ASSERT(offsetof(bw_reader, magic) == 0, "magic");
BW_STATIC_ASSERT(offsetof(bw_reader, abi_version) == 8, "abi_version");
BW_STATIC_ASSERT(offsetof(bw_reader, pid) == 12, "pid");
BW_STATIC_ASSERT(offsetof(bw_reader, file_length) == 16, "file_length");
BW_STATIC_ASSERT(offsetof(bw_reader, reader_id) == 24, "reader_id");
BW_STATIC_ASSERT(offsetof(bw_reader, previous_id) == 40, "previous_id");
BW_STATIC_ASSERT(offsetof(bw_reader, dp) == 56, "dp");
BW_STATIC_ASSERT(offsetof(bw_reader, cp) == 60, "cp");
BW_STATIC_ASSERT(offsetof(bw_reader, dp_size) == 64, "dp_size");
BW_STATIC_ASSERT(offsetof(bw_reader, cp_size) == 68, "cp_size");
BW_STATIC_ASSERT(offsetof(bw_reader, local_readers) == 72, "local_readers");
BW_STATIC_ASSERT(offsetof(bw_reader, ack_capacity) == 76, "ack_capacity");
BW_STATIC_ASSERT(offsetof(bw_reader, rank) == 80, "rank");
BW_STATIC_ASSERT(offsetof(bw_reader, attached) == 128, "attached");
BW_STATIC_ASSERT(offsetof(bw_reader, ring_number) == 132, "ring_number");
BW_STATIC_ASSERT(offsetof(bw_reader, generation) == 136, "generation");
BW_STATIC_ASSERT(offsetof(bw_reader, generation_id) == 144, "generation_id");
BW_STATIC_ASSERT(offsetof(bw_reader, first_n) == 160, "first_n");
BW_STATIC_ASSERT(offsetof(bw_reader, taken) == 256, "taken");
BW_STATIC_ASSERT(offsetof(bw_reader, waiting) == 384, "waiting");
BW_STATIC_ASSERT(offsetof(bw_reader, pulse) == 392, "pulse");
BW_STATIC_ASSERT(offsetof(bw_reader, ack) == 512, "ack");

/* ---- doorbell: one futex word that all ranks add to -------------------------------------------- */

typedef struct bw_doorbell {
  uint64_t magic;
  uint32_t abi_version;
  uint8_t reserved_1[116];
  uint32_t word; /* added to with an atomic read-modify-write after ack and after detach */
  uint8_t reserved_2[124];
} bw_doorbell;

#define BW_DOORBELL_LENGTH 256u

BW_STATIC_ASSERT(sizeof(bw_doorbell) == 256, "bw_doorbell");
BW_STATIC_ASSERT(offsetof(bw_doorbell, magic) == 0, "magic");
BW_STATIC_ASSERT(offsetof(bw_doorbell, abi_version) == 8, "abi_version");
BW_STATIC_ASSERT(offsetof(bw_doorbell, word) == 128, "word");

/* ---- region: the head of what the node needs of one step -------------------------------------- */

typedef struct bw_table {
  uint64_t magic;
  uint64_t step;
  uint32_t entry_count;
  uint32_t table_length; /* this head and its entries, rounded up to 64 */
  uint64_t region_length;
  uint8_t reserved[32];
} bw_table;

typedef struct bw_table_entry {
  uint32_t dp;            /* in the stream's grid; entries ascend by (dp, cp) */
  uint32_t cp;
  uint64_t offset;        /* from the start of the region, a multiple of 64 */
  uint64_t length;        /* bytes of the slice */
  uint32_t crc32c;        /* Castagnoli, of those bytes */
  uint32_t micro_batches;
  uint64_t samples;
  uint64_t tokens;
  uint8_t reserved[16];
} bw_table_entry;

#define BW_TABLE_LENGTH 64u
#define BW_TABLE_ENTRY_LENGTH 64u

BW_STATIC_ASSERT(sizeof(bw_table) == 64, "bw_table");
BW_STATIC_ASSERT(offsetof(bw_table, magic) == 0, "magic");
BW_STATIC_ASSERT(offsetof(bw_table, step) == 8, "step");
BW_STATIC_ASSERT(offsetof(bw_table, entry_count) == 16, "entry_count");
BW_STATIC_ASSERT(offsetof(bw_table, table_length) == 20, "table_length");
BW_STATIC_ASSERT(offsetof(bw_table, region_length) == 24, "region_length");
BW_STATIC_ASSERT(sizeof(bw_table_entry) == 64, "bw_table_entry");
BW_STATIC_ASSERT(offsetof(bw_table_entry, dp) == 0, "dp");
BW_STATIC_ASSERT(offsetof(bw_table_entry, cp) == 4, "cp");
BW_STATIC_ASSERT(offsetof(bw_table_entry, offset) == 8, "offset");
BW_STATIC_ASSERT(offsetof(bw_table_entry, length) == 16, "length");
BW_STATIC_ASSERT(offsetof(bw_table_entry, crc32c) == 24, "crc32c");
BW_STATIC_ASSERT(offsetof(bw_table_entry, micro_batches) == 28, "micro_batches");
BW_STATIC_ASSERT(offsetof(bw_table_entry, samples) == 32, "samples");
BW_STATIC_ASSERT(offsetof(bw_table_entry, tokens) == 40, "tokens");

/* ---- loads and stores ------------------------------------------------------------------------- */

#if defined(__GNUC__) || defined(__clang__)

static inline uint32_t bw_load_acquire_u32(const uint32_t *field) {
  return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

static inline uint64_t bw_load_acquire_u64(const uint64_t *field) {
  return __atomic_load_n(field, __ATOMIC_ACQUIRE);
}

static inline uint32_t bw_load_relaxed_u32(const uint32_t *field) {
  return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline uint64_t bw_load_relaxed_u64(const uint64_t *field) {
  return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void bw_store_relaxed_u64(uint64_t *field, uint64_t value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline void bw_store_release_u32(uint32_t *field, uint32_t value) {
  __atomic_store_n(field, value, __ATOMIC_RELEASE);
}

static inline void bw_store_release_u64(uint64_t *field, uint64_t value) {
  __atomic_store_n(field, value, __ATOMIC_RELEASE);
}

static inline uint32_t bw_add_release_u32(uint32_t *field, uint32_t value) {
  return __atomic_fetch_add(field, value, __ATOMIC_RELEASE);
}

static inline void bw_fence_full(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

#else
#error "needs the __atomic builtins of GCC or Clang"
#endif

/*
 * Both ends of every edge carry the same label, in every language:
 *
 * SYNC POINT: generation-open  daemon: fields of group 1, then state = OPEN (release)
 *                              rank:   state (acquire) == OPEN, then the fields
 * SYNC POINT: slot-ready       daemon: fields of the descriptor and the region, then seq (release)
 *                              rank:   seq (acquire) == BW_SEQ_PUBLISHED(n), then the fields
 * SYNC POINT: taken-or-closed  rank:   taken = n + 1 or attached = 1, full fence, state
 *                              daemon: state = CLOSED, full fence, every attached and taken
 * SYNC POINT: slot-released    rank:   last use of the region, then ack (release)
 *                              daemon: ack (acquire), then the region is reused
 * SYNC POINT: reader-born      rank:   fields of group 1, then magic (release)
 *                              daemon: magic (acquire), then the fields
 * SYNC POINT: reader-attached  rank:   fields of group 2 and taken, then attached (release)
 *                              daemon: attached (acquire) == 1, then the fields
 * SYNC POINT: status           daemon: status_seq odd, fields, status_seq even (release)
 *                              rank:   status_seq (acquire) even, fields, fence, the same again
 * SYNC POINT: wake             daemon: seq, state or status, then wake + 1, then FUTEX_WAKE all
 *                              rank:   wake (acquire), then the condition, then FUTEX_WAIT on it
 * SYNC POINT: doorbell         rank:   ack, then word + 1 (atomic), then FUTEX_WAKE all
 *                              daemon: word (acquire), then the acks, then FUTEX_WAIT on it
 */

#endif /* BATCHWEAVE_ABI_H */
