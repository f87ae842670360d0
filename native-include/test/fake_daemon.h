/*
 * The daemon's side of the ring in C: a directory with lock, doorbell, one ring and its generations. It
 * stands in for the exchange too: include this instead of batchweave.h. One per process.
 */
#ifndef BATCHWEAVE_TEST_FAKE_DAEMON_H
#define BATCHWEAVE_TEST_FAKE_DAEMON_H

#include "check.h"

#include "../batchweave_handshake.h"
#include "../batchweave_types.h"

static bw_status fake_exchange(bw_client *client, bw_hello *hello, bw_welcome *welcome, bw_refused *refused,
        int64_t deadline_ns, bw_error *error);

#define BW_EXCHANGE fake_exchange

#include "../batchweave.h"

#include <dirent.h>
#include <sys/wait.h>

#ifndef FAKE_REGION_BYTES
#define FAKE_REGION_BYTES (8 * 4096)
#endif

enum { FAKE_SLOTS = 8, FAKE_PAGE = 4096, FAKE_REGION = FAKE_REGION_BYTES, FAKE_RING = FAKE_SLOTS * FAKE_REGION };

typedef struct fake_daemon {
    char directory[256];
    int lock;
    uint8_t *data;
    bw_control *control;
    bw_doorbell *doorbell;
    uint64_t generation;
    uint64_t ring_inode;
    char control_name[64];
    /** Grid of the stream; the coordinates on this node are all of it. */
    uint32_t grid_dp;
    uint32_t grid_cp;
    /** What the next exchange answers; a refusal when not negative. */
    int refuse;
    int64_t first_step;
    int64_t first_index;
    /** Changes what the exchange answers; may be null. */
    void (*mangle)(bw_welcome *welcome);
    /** What was said last. */
    int64_t said_next_step;
    char said_reader[65];
    char said_previous[65];
    int exchanges;
} fake_daemon;

static fake_daemon fake;

static void fake_path(char *path, const char *name) {
    CHECK(bw_path_join(path, BW_PATH_CAPACITY, fake.directory, name));
}

static void *fake_map(const char *name, size_t length) {
    char path[BW_PATH_CAPACITY];
    fake_path(path, name);
    const int descriptor = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(descriptor >= 0 && ftruncate(descriptor, (off_t)length) == 0);
    uint8_t *place = bw_huge_reserve(length);
    void *base = mmap(place, length, PROT_READ | PROT_WRITE, MAP_SHARED | (place != NULL ? MAP_FIXED : 0), descriptor, 0);
    CHECK(base != MAP_FAILED && close(descriptor) == 0);
    return base;
}

/** Takes or drops daemon.lock. */
static void fake_live(bool alive) {
    if (alive) {
        char path[BW_PATH_CAPACITY];
        fake_path(path, BW_DAEMON_LOCK_NAME);
        fake.lock = open(path, O_RDWR | O_CREAT, 0600);
        struct flock lock;
        memset(&lock, 0, sizeof lock);
        lock.l_type = F_WRLCK;
        CHECK(fake.lock >= 0 && fcntl(fake.lock, F_OFD_SETLK, &lock) == 0);
    } else {
        CHECK(close(fake.lock) == 0);
    }
}

static void fake_json(const char *text) {
    char path[BW_PATH_CAPACITY];
    fake_path(path, BW_DAEMON_JSON_NAME);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/** Opens the next generation, whose n = 0 is `first_step`. */
static void fake_open(int64_t first_step) {
    if (fake.control != NULL) {
        CHECK(munmap(fake.control, 8192) == 0);
    }
    ++fake.generation;
    (void)snprintf(fake.control_name, sizeof fake.control_name, BW_CONTROL_NAME_FORMAT, 0u,
            (unsigned long long)fake.generation);
    fake.control = (bw_control *)fake_map(fake.control_name, 8192);
    bw_control *control = fake.control;
    control->magic = BW_CONTROL_MAGIC;
    control->abi_version = BW_ABI_VERSION;
    control->page_size = FAKE_PAGE;
    control->file_length = 8192;
    control->ring_length = FAKE_RING;
    control->ring_inode = fake.ring_inode;
    control->generation = fake.generation;
    control->generation_id[0] = 0x1111 + fake.generation;
    control->generation_id[1] = 0x2222;
    control->first_step = (uint64_t)first_step;
    control->descriptor_count = FAKE_SLOTS;
    control->hold = 1;
    control->local_readers = 1;
    control->dp_size = fake.grid_dp;
    control->cp_size = fake.grid_cp;
    control->coordinate_count = fake.grid_dp * fake.grid_cp;
    bw_store_release_u32(&control->state, BW_STATE_OPEN);
    fake.first_step = first_step;
    fake.first_index = 0;
}

static void fake_start(const char *directory, uint32_t grid_dp, uint32_t grid_cp) {
    memset(&fake, 0, sizeof fake);
    CHECK(strlen(directory) < sizeof fake.directory);
    memcpy(fake.directory, directory, strlen(directory) + 1);
    fake.grid_dp = grid_dp;
    fake.grid_cp = grid_cp;
    fake.refuse = -1;
    fake_live(true);
    fake_json("{\"abi\": 1, \"aeron\": \"1.51.0\", \"streams\": [{\"abi\": 7}]}");
    fake.doorbell = (bw_doorbell *)fake_map(BW_DOORBELL_NAME, BW_DOORBELL_LENGTH);
    fake.doorbell->magic = BW_DOORBELL_MAGIC;
    fake.doorbell->abi_version = BW_ABI_VERSION;
    fake.data = (uint8_t *)fake_map("ring-0.data", FAKE_RING);
    memset(fake.data, 0, FAKE_RING);
    if (FAKE_RING >= BW_HUGE_PAGE) {
        (void)madvise(fake.data, FAKE_RING, MADV_COLLAPSE); /* as the daemon's allocation does, where it can be had */
    }
    char path[BW_PATH_CAPACITY];
    struct stat status;
    fake_path(path, "ring-0.data");
    CHECK(stat(path, &status) == 0);
    fake.ring_inode = (uint64_t)status.st_ino;
    fake_open(0);
}

static void fake_stop(void) {
    fake_live(false);
    CHECK(munmap(fake.control, 8192) == 0 && munmap(fake.data, FAKE_RING) == 0);
    CHECK(munmap(fake.doorbell, BW_DOORBELL_LENGTH) == 0);
    DIR *folder = opendir(fake.directory);
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[BW_PATH_CAPACITY];
        fake_path(path, entry->d_name);
        (void)unlink(path);
    }
    CHECK(closedir(folder) == 0);
}

/** Reader files in the directory. */
static int fake_readers(void) {
    int count = 0;
    DIR *folder = opendir(fake.directory);
    CHECK(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += strstr(entry->d_name, ".reader") != NULL ? 1 : 0;
    }
    CHECK(closedir(folder) == 0);
    return count;
}

/** Whether somebody holds the lock of a reader file. */
static bool fake_reader_lives(const char *name) {
    char path[BW_PATH_CAPACITY];
    fake_path(path, name);
    const int descriptor = open(path, O_RDWR);
    if (descriptor < 0) {
        return false;
    }
    struct flock probe;
    memset(&probe, 0, sizeof probe);
    probe.l_type = F_WRLCK;
    CHECK(fcntl(descriptor, F_OFD_GETLK, &probe) == 0 && close(descriptor) == 0);
    return probe.l_type != F_UNLCK;
}

static bw_descriptor *fake_descriptor(uint64_t n) {
    return (bw_descriptor *)(void *)((uint8_t *)fake.control + BW_DESCRIPTORS_OFFSET +
            (n % FAKE_SLOTS) * BW_DESCRIPTOR_LENGTH);
}

static uint8_t fake_byte(int64_t step, uint32_t dp, uint32_t cp) {
    return (uint8_t)(step * 31 + dp * 7 + cp + 1);
}

static void fake_wake(void) {
    (void)bw_add_release_u32(&fake.control->wake, 1u);
    bw_futex_wake_all(&fake.control->wake);
}

/** Writes the region of `step` at `offset`: slices of 100 + dp bytes. */
static void fake_fill(int64_t step, uint64_t offset) {
    uint8_t *region = fake.data + offset;
    bw_table table;
    memset(&table, 0, sizeof table);
    table.magic = BW_TABLE_MAGIC;
    table.step = (uint64_t)step;
    table.entry_count = fake.grid_dp * fake.grid_cp;
    table.table_length = 64u * (1u + table.entry_count);
    table.region_length = FAKE_REGION;
    memset(region, 0, FAKE_REGION);
    memcpy(region, &table, sizeof table);
    uint64_t at = table.table_length;
    for (uint32_t i = 0; i < table.entry_count; ++i) {
        bw_table_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.dp = i / fake.grid_cp;
        entry.cp = i % fake.grid_cp;
        entry.offset = at;
        entry.length = 100 + entry.dp;
        entry.samples = 3;
        entry.tokens = 1000 + i;
        memset(region + at, fake_byte(step, entry.dp, entry.cp), entry.length);
        entry.crc32c = bw_crc32c(0, region + at, entry.length);
        memcpy(region + 64u * (1u + i), &entry, sizeof entry);
        at += 256;
    }
}

/** Publishes step `step` as the n-th of this generation, at `offset` of the ring. */
static void fake_publish_at(uint64_t n, int64_t step, uint64_t offset) {
    bw_descriptor *descriptor = fake_descriptor(n);
    bw_store_release_u64(&descriptor->seq, BW_SEQ_VOID);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    descriptor->step = (uint64_t)step;
    descriptor->next_step = (uint64_t)step + 1;
    descriptor->offset = offset;
    descriptor->length = FAKE_REGION;
    bw_store_release_u64(&descriptor->seq, BW_SEQ_ALLOCATED(n));
    fake_fill(step, offset);
    descriptor->kind = BW_KIND_READY;
    descriptor->reason = 0;
    bw_store_release_u64(&descriptor->seq, BW_SEQ_PUBLISHED(n));
    fake_wake();
}

/** Publishes step `step` as the n-th of this generation, each slot at its own place. */
static void fake_publish(uint64_t n, int64_t step) {
    fake_publish_at(n, step, n % FAKE_SLOTS * FAKE_REGION);
}

/** Publishes the last descriptor: BW_KIND_END or BW_KIND_FAILED. */
static void fake_publish_last(uint64_t n, int64_t step, uint32_t kind, uint32_t reason, const char *text) {
    bw_descriptor *descriptor = fake_descriptor(n);
    descriptor->step = (uint64_t)step;
    descriptor->next_step = (uint64_t)step;
    descriptor->offset = 0;
    descriptor->length = 0;
    memcpy(fake.control->failure_text, text, strlen(text));
    bw_store_release_u32(&fake.control->failure_length, (uint32_t)strlen(text));
    descriptor->kind = kind;
    descriptor->reason = reason;
    bw_store_release_u64(&descriptor->seq, BW_SEQ_PUBLISHED(n));
    fake_wake();
}

static void fake_close(uint32_t reason) {
    bw_store_release_u32(&fake.control->state, BW_STATE_WORD(BW_STATE_CLOSED, reason));
    bw_fence_full();
    fake_wake();
}

static bw_status fake_exchange(bw_client *client, bw_hello *hello, bw_welcome *welcome, bw_refused *refused,
        int64_t deadline_ns, bw_error *error) {
    (void)client;
    (void)deadline_ns;
    (void)error;
    ++fake.exchanges;
    CHECK(fake_reader_lives(hello->reader_file));
    fake.said_next_step = hello->next_step;
    (void)snprintf(fake.said_reader, sizeof fake.said_reader, "%s", hello->reader_file);
    (void)snprintf(fake.said_previous, sizeof fake.said_previous, "%s", hello->previous_reader_file);
    if (fake.refuse >= 0) {
        memset(refused, 0, sizeof *refused);
        refused->code = (uint8_t)fake.refuse;
        refused->step = 5;
        refused->bytes = 4711;
        memcpy(refused->text, "as the test wants", 18);
        return BW_ERROR_REFUSED;
    }
    memset(welcome, 0, sizeof *welcome);
    memcpy(welcome->generation_id, fake.control->generation_id, sizeof welcome->generation_id);
    welcome->first_step = fake.first_step;
    welcome->first_index = fake.first_index;
    welcome->abi = (int32_t)BW_ABI_VERSION;
    welcome->grid_dp = (int32_t)fake.grid_dp;
    welcome->grid_cp = (int32_t)fake.grid_cp;
    welcome->stream_id[0] = 0xAAAA;
    welcome->stream_id[1] = 0xBBBB;
    welcome->view_version = 3;
    (void)snprintf(welcome->control_file, sizeof welcome->control_file, "%s", fake.control_name);
    (void)snprintf(welcome->data_file, sizeof welcome->data_file, "ring-0.data");
    if (fake.mangle != NULL) {
        fake.mangle(welcome);
    }
    return BW_OK;
}

static bw_options fake_options(void) {
    bw_options options;
    bw_options_init(&options);
    options.directory = fake.directory;
    options.stream = "file:/corpus";
    options.group = "run";
    options.session = "run-0";
    options.dp_size = fake.grid_dp;
    options.cp_size = fake.grid_cp;
    return options;
}

/** The acks of the client's current reader file, as the daemon sees them. */
static bool fake_acked(const char *reader_name, uint64_t n) {
    bw_reader *reader = (bw_reader *)fake_map(reader_name, BW_READER_LENGTH);
    const bool acked = bw_load_acquire_u64(&reader->ack[n % FAKE_SLOTS]) == BW_ACK_RELEASED(n);
    CHECK(munmap(reader, BW_READER_LENGTH) == 0);
    return acked;
}

#endif
