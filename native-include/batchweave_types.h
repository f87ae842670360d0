/*
 * What the C rank client shows and keeps: options, lease, slice, and the record of one client. Include
 * batchweave.h, which explains how to use them.
 */
#ifndef BATCHWEAVE_TYPES_H
#define BATCHWEAVE_TYPES_H

#include "batchweave_base.h"

#include "batchweave_abi.h"

/** What kind of memory the views of a client are. */
typedef enum bw_views {
    /**
     * Writable and copy-on-write: an edit stays in this process and is dropped at release. Falls back
     * to BW_VIEWS_COPY, with one notice, where the system cannot do that.
     */
    BW_VIEWS_PRIVATE = 0,
    /** Read-only: writing through a view kills the process. */
    BW_VIEWS_SHARED = 1,
    /** Shared and writable, for registration with CUDA: read-only by contract, not by protection. */
    BW_VIEWS_SHARED_WRITABLE = 2,
    /** Read-only, and the caller is expected to copy what it needs and release at once. */
    BW_VIEWS_COPY = 3
} bw_views;

/** How a rank attaches. Fill with bw_options_init first; strings are copied by bw_attach. */
typedef struct bw_options {
    /** The daemon's directory; null: $BATCHWEAVE_DIR, else /dev/shm/batchweave-<uid>/default. */
    const char *directory;
    /** URL of the stream, or its name in daemon.json; 1 to 512 bytes. */
    const char *stream;
    /** The training job and its launch: [a-z0-9-], 1 to 64 bytes each. */
    const char *group;
    const char *session;
    /** Grid coordinate of this rank and the sizes of the job's grid. */
    uint32_t dp;
    uint32_t dp_size;
    uint32_t cp;
    uint32_t cp_size;
    /** Ranks of this session on this node (LOCAL_WORLD_SIZE), at least 1. */
    uint32_t local_readers;
    /** Global rank, for messages; -1 unknown. */
    int32_t rank;
    /** First step wanted; BW_NO_STEP: the token's, else the session's start. */
    int64_t next_step;
    /**
     * The session's view, for a process that was in the session before: then the session is never registered
     * anew, and BW_ERROR_SUPERSEDED says that it is over; 0: not known.
     */
    int64_t view_version;
    /** Resume token as the trainer stored it, at most 256 bytes; null: none. */
    const uint8_t *token;
    size_t token_length;
    /** Be refused while another session of the group lives, instead of ending it. */
    bool refuse_if_live;
    /** 1 = C, 2 = Python; for messages of the daemon. */
    uint8_t client_kind;
    bw_views views;
    /** Where `mapped` refuses: fail, instead of falling back to BW_VIEWS_PRIVATE. */
    bool views_required;
    /** Verify the checksum of this rank's slices when a step is taken. */
    bool check_on_take;
    /** Verify it again at release (shared views): tells which rank broke a slice. */
    bool check_on_release;
    /** Looks at the descriptor before a futex wait, about 10 ns each. */
    uint32_t spin_rounds;
    /** Passed to the callbacks below; each of them may be null. */
    void *context;
    /** One line for people: a fallback, a re-attachment. Called in bw_attach and bw_next only. */
    void (*notice)(void *context, const char *line);
    /** True stops the wait with BW_ERROR_INTERRUPTED. Asked at least every 100 ms of waiting. */
    bool (*interrupted)(void *context);
    /**
     * A ring was mapped BW_VIEWS_SHARED_WRITABLE (once per ring file). False: it is mapped BW_VIEWS_PRIVATE
     * instead, or, with views_required, the attachment fails.
     */
    bool (*mapped)(void *context, void *base, size_t length);
    /** What `mapped` agreed to is about to be unmapped, in whatever thread released last. False keeps it. */
    bool (*unmapping)(void *context, void *base, size_t length);
} bw_options;

/** One rank's attachment to the node daemon. */
typedef struct bw_client bw_client;

/** The hold on one step. Plain data: may be copied around, but released once. */
typedef struct bw_lease {
    struct bw_attachment *attachment;
    /** Index of the step within its generation. */
    uint64_t n;
    int64_t step;
    /** The step that follows for this session. */
    int64_t next_step;
    /** What the node needs of the step: a bw_table, then the slices. */
    uint8_t *region;
    uint64_t region_length;
    /** Slices in the region, and how many of them are this rank's. */
    uint32_t slice_count;
    uint32_t own_count;
} bw_lease;

/** The bytes of one grid coordinate of one step. Valid until the lease is released. */
typedef struct bw_slice {
    /** Writable in the sense of the client's views, see bw_views. */
    uint8_t *data;
    uint64_t length;
    /** Coordinate in the stream's grid. */
    uint32_t dp;
    uint32_t cp;
    uint32_t crc32c;
    uint32_t micro_batches;
    uint64_t samples;
    uint64_t tokens;
} bw_slice;

/** What a client knows about itself. */
typedef struct bw_info {
    /** The step that bw_next will return next. */
    int64_t next_step;
    /** UUID of the stream. */
    uint64_t stream_id[2];
    /** Manifest version that is the session's view. */
    int64_t view_version;
    /** Grid of the stream; a rank of a smaller job takes grid_dp / dp_size slices per step. */
    uint32_t grid_dp;
    uint32_t grid_cp;
    uint32_t ring_number;
    uint64_t generation;
    uint64_t generation_id[2];
    /** Steps a rank may hold while it asks for the next. */
    uint32_t hold;
    /** Steps this client holds now, in all generations. */
    uint32_t leases;
    /** The memory of the ring in this process. */
    void *ring_base;
    uint64_t ring_length;
    uint64_t ring_inode;
    bw_views views;
    /** Attachments made so far; 1 after bw_attach. */
    uint32_t attachments;
} bw_info;

/* ---------------------------------------------------------------- inside; not for callers */

/** The memory of one ring file in this process, shared by the attachments that use it. */
typedef struct bw_mapping {
    struct bw_mapping *next;
    uint8_t *base;
    size_t length;
    uint64_t device;
    uint64_t inode;
    bw_views views;
    /** `mapped` agreed to it. */
    bool agreed;
    uint32_t references;
} bw_mapping;

/** One reader file and what it may touch. Lives until its last lease is released. */
typedef struct bw_attachment {
    bw_client *client;
    /** 1 while it is the client's current one or `replaced` by that, and 1 for each lease. */
    uint32_t references;
    /** The one before, kept until this or a later one came to a generation that was open. */
    struct bw_attachment *replaced;
    /** Bytes of this generation's files; the control file is gone once it is not current. */
    const bw_control *control;
    size_t control_length;
    bw_reader *reader;
    /**
     * The reader file once more, as private as the views and never written: where what is stored into `reader`
     * does not show here, something has copied all that is mapped. Null where it is not to be had.
     */
    const bw_reader *witness;
    bw_doorbell *doorbell;
    bw_mapping *mapping;
    char reader_name[48];
    uint64_t reader_id[2];
    uint64_t generation;
    uint64_t generation_id[2];
    uint32_t ring_number;
    uint32_t descriptor_count;
    uint32_t page_size;
    uint32_t hold;
    /** The next n to take. */
    uint64_t n;
} bw_attachment;

struct bw_client {
    /** 1 of the caller, and 1 for each attachment. */
    uint32_t references;
    /** Guards `mappings`, and `current` against releases of old leases. */
    uint32_t lock;
    bool closed;
    /** A page that reads 1 here and 0 in a forked child; where that is not to be had, the pid. */
    uint32_t *guard;
    int64_t process;
    bw_options options;
    char directory[BW_PATH_CAPACITY];
    char stream[513];
    char group[65];
    char session[65];
    uint8_t token[256];
    bw_views views;
    bw_attachment *current;
    bw_mapping *mappings;
    /** Pages that nobody edited were copied (mlockall): from then on every take asks about its region. */
    bool copied;
    int pagemap;
    int daemon_lock;
    /** Descriptor of a reader file while it is being created, else -1. */
    int newborn;
    uint32_t leases;
    int64_t next_step;
    uint64_t stream_id[2];
    int64_t view_version;
    uint32_t grid_dp;
    uint32_t grid_cp;
    uint32_t attachments;
    /** `current` takes no more steps: the next call attaches again. */
    bool detached;
    /** Why: BW_CLOSED_…, or 0 when the daemon died. */
    uint32_t closed_reason;
    /** Last time the caller was asked whether to stop. */
    int64_t asked_ns;
};

#endif
