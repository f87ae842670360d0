/*
 * The rank client against the daemon's side of the ring in C. Argument: a directory of its own on a tmpfs.
 */
#include "fake_daemon.h"

#include <pthread.h>

#define SECONDS(count) (INT64_C(1000000000) * (count))
#define MILLIS(count) (INT64_C(1000000) * (count))

static const char *directory;
static bw_error error;

static bw_client *attach(const bw_options *options) {
    bw_client *client = NULL;
    const bw_status status = bw_attach(options, SECONDS(10), &client, &error);
    if (status != BW_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
    }
    CHECK_EQUAL(BW_OK, status);
    CHECK(client != NULL);
    return client;
}

static void check_lease(const bw_client *client, const bw_lease *lease, int64_t step) {
    CHECK_EQUAL(step, lease->step);
    for (uint32_t i = 0; i < lease->own_count; ++i) {
        bw_slice slice;
        CHECK_EQUAL(BW_OK, bw_own_slice(client, lease, i, &slice, &error));
        CHECK_EQUAL(client->options.dp * lease->own_count + i, slice.dp);
        CHECK_EQUAL(client->options.cp, slice.cp);
        CHECK_EQUAL(100 + slice.dp, slice.length);
        CHECK_EQUAL(fake_byte(step, slice.dp, slice.cp), slice.data[0]);
        CHECK_EQUAL(BW_OK, bw_slice_check(lease, &slice, &error));
    }
}

static void should_take_in_order_and_release_in_any(void) {
    fake_start(directory, 4, 2);
    bw_options options = fake_options();
    options.dp = 1;
    options.dp_size = 2; /* two slices of four per step */
    options.cp = 1;
    options.check_on_take = true;
    bw_client *client = attach(&options);
    CHECK_EQUAL(1, fake_readers());
    bw_info info;
    CHECK_EQUAL(BW_OK, bw_info_of(client, &info, &error));
    CHECK_EQUAL(0xAAAA, info.stream_id[0]);
    CHECK_EQUAL(FAKE_RING, info.ring_length);
    CHECK_EQUAL(BW_VIEWS_PRIVATE, info.views);
    for (uint64_t n = 0; n < 400; n += 4) {
        bw_lease leases[4];
        fake_publish(n + 2, (int64_t)n + 2); /* out of order */
        fake_publish(n + 0, (int64_t)n + 0);
        fake_publish(n + 3, (int64_t)n + 3);
        fake_publish(n + 1, (int64_t)n + 1);
        for (int i = 0; i < 4; ++i) {
            CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &leases[i], &error));
            CHECK_EQUAL(2, leases[i].own_count);
            check_lease(client, &leases[i], (int64_t)n + i);
        }
        const uint32_t rung = bw_load_acquire_u32(&fake.doorbell->word);
        const int order[] = {2, 0, 3, 1};
        for (int i = 0; i < 4; ++i) {
            const bw_lease copy = leases[order[i]];
            CHECK_EQUAL(BW_OK, bw_release(&leases[order[i]], &error));
            CHECK_EQUAL(BW_ERROR_CLOSED, bw_release(&leases[order[i]], &error));
            CHECK(fake_acked(client->current->reader_name, copy.n));
        }
        CHECK_EQUAL(rung + 4, bw_load_acquire_u32(&fake.doorbell->word));
    }
    bw_lease late;
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(20), &late, &error));
    CHECK(strstr(error.text, "step=400") != NULL && strstr(error.text, "stream=file:/corpus") != NULL);
    bw_close(client);
    CHECK_EQUAL(0, fake_readers());
    fake_stop();
}

static void should_keep_leases_over_a_change_of_generation(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    CHECK_EQUAL(-1, fake.said_next_step);
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    char old_reader[48];
    memcpy(old_reader, client->current->reader_name, sizeof old_reader);
    fake_publish(1, 1);
    fake_close(BW_CLOSED_COORDINATE);
    fake_open(1);
    fake_publish(3, 4);
    fake.first_index = 3; /* the others of the node are further on */
    fake.first_step = 4;
    bw_lease next;
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &next, &error));
    CHECK_EQUAL(1, fake.said_next_step);
    CHECK(strcmp(old_reader, fake.said_previous) == 0);
    check_lease(client, &next, 4);
    check_lease(client, &lease, 0);
    CHECK_EQUAL(2, fake_readers());
    CHECK(fake_reader_lives(old_reader));
    const bw_lease copy = lease;
    const uint32_t rung = bw_load_acquire_u32(&fake.doorbell->word);
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    CHECK(copy.attachment != client->current);
    CHECK(bw_load_acquire_u32(&fake.doorbell->word) > rung);
    CHECK_EQUAL(1, fake_readers());
    CHECK_EQUAL(BW_OK, bw_release(&next, &error));
    bw_close(client);
    CHECK_EQUAL(0, fake_readers());
    fake_stop();
}

static char first_reader[65];
static int closed_at_attaching;

/** A daemon whose last word was Welcome, and the next one, which knows the rank by its first file alone. */
static void close_when_mapped(const char *name) {
    if (strcmp(name, "mapped") == 0 && closed_at_attaching == 0) {
        ++closed_at_attaching;
        fake_close(BW_CLOSED_DAEMON_RESTART);
    }
}

static void open_at_the_second_hello(bw_welcome *welcome) {
    if (closed_at_attaching == 1) {
        ++closed_at_attaching;
        CHECK_EQUAL(3, fake_readers());
        CHECK(fake_reader_lives(first_reader));
        CHECK(fake_reader_lives(fake.said_previous));
        CHECK(strcmp(first_reader, fake.said_previous) != 0);
        fake_open(1);
        fake_publish(0, 1);
        memcpy(welcome->generation_id, fake.control->generation_id, sizeof welcome->generation_id);
        (void)snprintf(welcome->control_file, sizeof welcome->control_file, "%s", fake.control_name);
    }
}

/** The generation is closed, and the next one while the client attaches to it. */
static void close_twice(const bw_client *client) {
    (void)snprintf(first_reader, sizeof first_reader, "%s", client->current->reader_name);
    fake_close(BW_CLOSED_COORDINATE);
    fake_open(1);
    closed_at_attaching = 0;
    bw_test_hook = close_when_mapped;
    fake.mangle = open_at_the_second_hello;
}

static void should_keep_its_files_until_it_comes_to_an_open_generation(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    close_twice(client);
    bw_lease lease;
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    check_lease(client, &lease, 1);
    CHECK_EQUAL(2, closed_at_attaching);
    CHECK_EQUAL(1, fake_readers());
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    close_twice(client);
    CHECK_EQUAL(BW_OK, bw_attach_until(client, bw_deadline_ns(SECONDS(5)), &error));
    CHECK_EQUAL(2, fake_readers());
    bw_close(client);
    CHECK_EQUAL(0, fake_readers());
    bw_test_hook = NULL;
    fake_stop();
}

static void should_wait_for_the_next_daemon(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    fake_live(false);
    bw_lease next;
    const int64_t before_ns = bw_now_ns();
    CHECK_EQUAL(BW_ERROR_DAEMON_LOST, bw_next(client, MILLIS(300), &next, &error));
    CHECK(bw_now_ns() - before_ns < SECONDS(5));
    check_lease(client, &lease, 0);
    fake_live(true);
    fake_open(1);
    fake_publish(0, 1);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &next, &error));
    check_lease(client, &next, 1);
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    CHECK_EQUAL(BW_OK, bw_release(&next, &error));
    bw_close(client);
    fake_stop();
}

static void should_end_or_fail_as_the_last_descriptor_says(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    fake_publish_last(0, 0, BW_KIND_FAILED, BW_FAILED_MISSING, "object data/ab/p/1.tgb does not exist");
    CHECK_EQUAL(BW_ERROR_STEP_FAILED, bw_next(client, SECONDS(5), &lease, &error));
    CHECK_EQUAL(BW_FAILED_MISSING, error.refused_code);
    CHECK(strstr(error.text, "data/ab/p/1.tgb") != NULL && error.step == 0);
    fake_close(BW_CLOSED_RETRY);
    fake_open(0);
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error)); /* another try */
    check_lease(client, &lease, 0);
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    fake_publish_last(1, 1, BW_KIND_END, 0, "");
    CHECK_EQUAL(BW_END_OF_STREAM, bw_next(client, SECONDS(5), &lease, &error));
    CHECK_EQUAL(BW_END_OF_STREAM, bw_next(client, SECONDS(5), &lease, &error));
    CHECK_EQUAL(1, bw_load_acquire_u64(&client->current->reader->taken));
    bw_close(client);
    fake_stop();
}

/** The daemon says that `step` does not fit because of this rank, which has not released so many. */
static void fake_blocked(bw_client *client, uint64_t step, uint64_t steps) {
    bw_control *control = fake.control;
    const uint32_t seq = control->status_seq;
    bw_store_release_u32(&control->status_seq, seq + 1u);
    control->blocked_bytes = 123456;
    control->blocked_step = step;
    control->blocked_reader_steps = steps;
    memcpy(control->blocked_reader, client->current->reader_id, sizeof control->blocked_reader);
    memcpy(control->trouble_text, "503 of GET data/x", 17);
    control->trouble_length = 17;
    bw_store_release_u32(&control->status_seq, seq + 2u);
}

static void should_raise_ring_held_when_its_own_leases_are_in_the_way(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease first;
    bw_lease second;
    bw_lease next;
    fake_publish(0, 0);
    fake_publish(1, 1);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &first, &error));
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &second, &error));
    fake_blocked(client, 2, 2);
    fake.control->blocked_reader[0] ^= 1u; /* somebody else */
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(500), &next, &error));
    fake_blocked(client, 2, 3); /* of before a release */
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(500), &next, &error));
    fake_blocked(client, 2, 2);
    CHECK_EQUAL(BW_ERROR_RING_HELD, bw_next(client, SECONDS(20), &next, &error));
    CHECK_EQUAL(123456, error.bytes);
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(1), &next, &error));
    CHECK(strstr(error.text, "503 of GET data/x") != NULL);
    CHECK(strstr(error.text, "blockedStep=2 blockedBytes=123456 blockedBy=") != NULL);
    CHECK_EQUAL(BW_OK, bw_release(&first, &error));
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(500), &next, &error)); /* the daemon looks the other way */
    fake_blocked(client, 2, 1);
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_next(client, MILLIS(500), &next, &error)); /* one of them it may keep */
    CHECK_EQUAL(BW_OK, bw_release(&second, &error));
    fake_publish(2, 2);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &next, &error));
    CHECK_EQUAL(BW_OK, bw_release(&next, &error));
    bw_close(client);
    fake_stop();
}

/** Publishes step 0 after `damage` changed it, and says what a rank makes of it. */
static bw_status take_damaged(void (*damage)(bw_descriptor *, bw_table *, bw_table_entry *), bool check) {
    fake_start(directory, 2, 1);
    bw_options options = fake_options();
    options.check_on_take = check;
    bw_client *client = attach(&options);
    fake_publish(0, 0);
    damage(fake_descriptor(0), (bw_table *)(void *)fake.data, (bw_table_entry *)(void *)(fake.data + 64));
    bw_lease lease;
    const bw_status status = bw_next(client, MILLIS(300), &lease, &error);
    CHECK(lease.attachment == NULL || status == BW_OK);
    if (status == BW_OK) {
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    } else {
        CHECK_EQUAL(0, bw_load_acquire_u64(&client->current->reader->taken));
    }
    bw_close(client);
    fake_stop();
    return status;
}

#define DAMAGE(name, statement)                                                           \
    static void name(bw_descriptor *descriptor, bw_table *table, bw_table_entry *entry) { \
        (void)descriptor;                                                                 \
        (void)table;                                                                      \
        (void)entry;                                                                      \
        statement;                                                                        \
    }

DAMAGE(damage_nothing, (void)0)
DAMAGE(damage_kind, descriptor->kind = 9)
DAMAGE(damage_step, descriptor->step = 3)
DAMAGE(damage_next_step, descriptor->next_step = 0)
DAMAGE(damage_offset, descriptor->offset = 64)
DAMAGE(damage_far, descriptor->offset = FAKE_RING)
DAMAGE(damage_overflow, descriptor->offset = UINT64_MAX - FAKE_PAGE + 1)
DAMAGE(damage_length, descriptor->length = FAKE_REGION + 1)
DAMAGE(damage_empty, descriptor->length = 0)
DAMAGE(damage_long, descriptor->length = UINT64_MAX - FAKE_PAGE + 1)
DAMAGE(damage_seq, descriptor->seq = BW_SEQ_PUBLISHED(FAKE_SLOTS))
DAMAGE(damage_magic, table->magic = 1)
DAMAGE(damage_table_step, table->step = 1)
DAMAGE(damage_entries, table->entry_count = BW_MAX_TABLE_ENTRIES + 1)
DAMAGE(damage_many, (table->entry_count = 4096, table->table_length = 64 * 4097))
DAMAGE(damage_table_length, table->table_length = 64)
DAMAGE(damage_region_length, table->region_length = FAKE_REGION - 1)
DAMAGE(damage_slice_offset, entry->offset = 64)
DAMAGE(damage_slice_alignment, entry->offset += 1)
DAMAGE(damage_slice_far, entry->offset = UINT64_MAX - 63)
DAMAGE(damage_slice_length, entry->length = FAKE_REGION)
DAMAGE(damage_coordinate, entry->dp = 7)
DAMAGE(damage_bytes, fake.data[entry->offset] ^= 1)

static void should_refuse_what_a_damaged_ring_says(void) {
    CHECK_EQUAL(BW_OK, take_damaged(damage_nothing, true));
    void (*const damages[])(bw_descriptor *, bw_table *, bw_table_entry *) = {damage_kind, damage_step,
        damage_next_step, damage_offset, damage_far, damage_overflow, damage_length, damage_empty, damage_long,
        damage_seq, damage_magic, damage_table_step, damage_entries, damage_many, damage_table_length,
        damage_region_length, damage_slice_offset, damage_slice_alignment, damage_slice_far, damage_slice_length,
        damage_coordinate, damage_bytes};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; ++i) {
        const bw_status status = take_damaged(damages[i], true);
        if (status != BW_ERROR_CORRUPT) {
            (void)fprintf(stderr, "damage %zu\n", i);
        }
        CHECK_EQUAL(BW_ERROR_CORRUPT, status);
    }
    CHECK_EQUAL(BW_OK, take_damaged(damage_bytes, false));
}

static void should_refuse_damaged_control_files(void) {
    for (int damage = 0; damage < 13; ++damage) {
        fake_start(directory, 1, 1);
        bw_control *control = fake.control;
        bw_status expected = BW_ERROR_CORRUPT;
        switch (damage) {
            case 0: control->magic = 0; break;
            case 1: control->abi_version = 2; expected = BW_ERROR_VERSION; break;
            case 2: control->descriptor_count = 0; break;
            case 3: control->descriptor_count = 3; break;
            case 4: control->descriptor_count = 2048; break;
            case 5: control->descriptor_count = 64; break; /* more than the file holds */
            case 6: control->coordinate_count = 1u << 31; break;
            case 7: control->file_length = 1 << 20; break;
            case 8: control->page_size = 0; break;
            case 9: control->page_size = 100; break;
            case 10: control->ring_inode = 1; break;
            case 11: control->ring_length = FAKE_RING + 1; break;
            default: control->hold = 1000; break;
        }
        bw_options options = fake_options();
        bw_client *client = NULL;
        CHECK_EQUAL(expected, bw_attach(&options, MILLIS(300), &client, &error));
        CHECK(client == NULL);
        CHECK_EQUAL(0, fake_readers());
        fake_stop();
    }
    fake_start(directory, 1, 1);
    fake_close(BW_CLOSED_RETRY); /* closed between Welcome and mapping: another Hello, until the deadline */
    bw_options options = fake_options();
    bw_client *client = NULL;
    CHECK_EQUAL(BW_ERROR_DEADLINE, bw_attach(&options, MILLIS(500), &client, &error));
    CHECK(fake.exchanges > 1);
    fake_stop();
}

static void should_tell_refusals_and_versions_apart(void) {
    const struct {
        int code;
        bw_status status;
    } refusals[] = {{BW_REFUSAL_UNKNOWN_STREAM, BW_ERROR_REFUSED}, {BW_REFUSAL_SUPERSEDED, BW_ERROR_SUPERSEDED},
        {BW_REFUSAL_RING_HELD, BW_ERROR_RING_HELD}, {BW_REFUSAL_ABI_MISMATCH, BW_ERROR_VERSION},
        {BW_REFUSAL_RECLAIMED, BW_ERROR_REFUSED}, {200, BW_ERROR_REFUSED}};
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = NULL;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
        fake.refuse = refusals[i].code;
        CHECK_EQUAL(refusals[i].status, bw_attach(&options, SECONDS(5), &client, &error));
        CHECK_EQUAL(refusals[i].code, error.refused_code);
        CHECK_EQUAL(4711, error.bytes);
        CHECK(strstr(error.text, "as the test wants") != NULL);
    }
    fake.refuse = -1;
    const struct {
        const char *json;
        bw_status status;
    } daemons[] = {{"{\"abi\":1}", BW_OK}, {"{\"x\":{\"abi\":3},\"abi\": 1}", BW_OK},
        {"{\"abi\": 2, \"aeron\": \"1.51.0\"}", BW_ERROR_VERSION}, {"{\"abi\":1,\"aeron\":\"2.0.0\"}", BW_ERROR_VERSION},
        {"{\"abi\":1,\"aeron\":\"1.52.0\"}", BW_OK}, {"", BW_ERROR_CORRUPT}, {"{\"abi", BW_ERROR_CORRUPT},
        {"{\"abi\"", BW_ERROR_CORRUPT}, {"{\"abi\":", BW_ERROR_CORRUPT}, {"[\"abi\",1]", BW_ERROR_CORRUPT},
        {"{\"a\\", BW_ERROR_CORRUPT}, {"{\"abi\":\"1\\u0031\"}", BW_ERROR_CORRUPT},
        {"{\"y\":\"abi\",\"z\":1}", BW_ERROR_CORRUPT}};
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; ++i) {
        fake_json(daemons[i].json);
        const bw_status status = bw_attach(&options, SECONDS(5), &client, &error);
        if (status != daemons[i].status) {
            (void)fprintf(stderr, "%s\n", daemons[i].json);
        }
        CHECK_EQUAL(daemons[i].status, status);
        bw_close(client);
    }
    CHECK_EQUAL(0, fake_readers());
    fake_live(false);
    CHECK_EQUAL(BW_ERROR_NO_DAEMON, bw_attach(&options, MILLIS(50), &client, &error));
    options.group = "Not Allowed";
    CHECK_EQUAL(BW_ERROR_ARGUMENT, bw_attach(&options, MILLIS(50), &client, &error));
    options.group = "run";
    options.dp = 1;
    CHECK_EQUAL(BW_ERROR_ARGUMENT, bw_attach(&options, MILLIS(50), &client, &error));
    fake_live(true);
    fake_stop();
}

static void should_keep_edits_private_and_drop_them_at_release(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    for (uint64_t n = 0; n < 3 * FAKE_SLOTS; ++n) {
        bw_lease lease;
        fake_publish(n, (int64_t)n);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        check_lease(client, &lease, (int64_t)n); /* nothing stale of the step that lay here */
        const size_t offset = (size_t)(n % FAKE_SLOTS * FAKE_REGION);
        if (n % 2 == 0) {
            memset(lease.region + 100, 0xEE, 50);            /* one page */
            lease.region[lease.region_length - 1] = 0xEE;    /* the last byte: not the neighbour's page */
        } else {
            memset(lease.region, 0xEE, lease.region_length); /* all of it: above one eighth */
        }
        CHECK(fake.data[offset + FAKE_REGION - 1] != 0xEE && fake.data[offset + 120] != 0xEE);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    }
    bw_close(client);
    fake_stop();
}

/** U36: mlockall copies all that is mapped, also of regions that nobody holds, and the kernel tells nobody. */
static void should_show_the_ring_where_pages_were_copied_before_the_take(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    for (uint64_t n = 0; n < FAKE_SLOTS; ++n) {
        const size_t offset = (size_t)(n * FAKE_REGION);
        fake_fill((int64_t)(n % 2 == 0 ? n : n + 100), offset); /* of this very step, or of another */
        fake.data[offset + BW_TABLE_LENGTH * 2 + 5] ^= 0xFF;    /* that was not complete yet */
        volatile uint8_t *copied = client->current->mapping->base + offset;
        for (size_t at = 0; at < FAKE_REGION; at += 4096) {
            copied[at] = copied[at];
        }
    }
    volatile uint64_t *witness = (uint64_t *)(uintptr_t)&client->current->witness->pulse;
    *witness = *witness;
    for (uint64_t n = 0; n < FAKE_SLOTS; ++n) {
        fake_publish(n, (int64_t)n);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        check_lease(client, &lease, (int64_t)n);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
        CHECK(client->copied);
    }
    bw_close(client);
    fake_stop();
}

/** U36: steps differ in size, so a region may begin on pages that a former one has cleaned, and end on copies. */
static void should_show_the_ring_where_only_later_pages_of_a_region_are_copies(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    volatile uint8_t *mapped = client->current->mapping->base;
    for (size_t at = 0; at < FAKE_RING; at += FAKE_PAGE) {
        mapped[at] = mapped[at];
    }
    volatile uint64_t *witness = (uint64_t *)(uintptr_t)&client->current->witness->pulse;
    *witness = *witness;
    for (uint64_t n = 0; n < FAKE_SLOTS; ++n) {
        bw_lease lease;
        const uint64_t offset = n * FAKE_PAGE;
        fake_publish_at(n, (int64_t)n, offset);
        memset(fake.data + offset + FAKE_REGION - FAKE_PAGE, (int)n + 1, FAKE_PAGE);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        CHECK(memcmp(lease.region, fake.data + offset, FAKE_REGION) == 0);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    }
    bw_close(client);
    fake_stop();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* the sanitizers ignore mlockall */
#define LOCKS_MEMORY
static int notices;

static void count_notice(void *context, const char *line) {
    CHECK(context == NULL && strstr(line, "views=copy") != NULL);
    ++notices;
}

/** U36: unlocked again at once, so that no later call of the system could tell. */
static void should_notice_mlockall_though_it_is_over(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    for (uint64_t n = 0; n < 4; ++n) {
        fake_publish(n, (int64_t)n);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        CHECK(!client->copied);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    }
    if (mlockall(MCL_CURRENT) == 0) {
        CHECK(munlockall() == 0);
        fake_publish(4, 4);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        CHECK(client->copied);
        check_lease(client, &lease, 4);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    }
    bw_close(client);
    fake_stop();
}

static void should_fall_back_to_copies_under_mlockall(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    options.notice = count_notice;
    if (mlockall(MCL_FUTURE) == 0) {
        bw_client *client = attach(&options);
        bw_info info;
        CHECK_EQUAL(BW_OK, bw_info_of(client, &info, &error));
        CHECK_EQUAL(BW_VIEWS_COPY, info.views);
        CHECK_EQUAL(1, notices);
        bw_lease lease;
        fake_publish(0, 0);
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
        check_lease(client, &lease, 0);
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
        bw_close(client);
        CHECK(munlockall() == 0);
    }
    fake_stop();
}
#endif

static bool refuse_unmap(void *context, void *base, size_t length) {
    void **seen = (void **)context;
    CHECK(length == FAKE_RING);
    seen[1] = base;
    return false;
}

static bool note_map(void *context, void *base, size_t length) {
    void **seen = (void **)context;
    CHECK(length == FAKE_RING);
    seen[0] = base;
    return true;
}

static void should_map_shared_and_name_who_broke_a_slice(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    void *seen[2] = {NULL, NULL};
    options.views = BW_VIEWS_SHARED_WRITABLE;
    options.check_on_release = true;
    options.context = seen;
    options.mapped = note_map;
    options.unmapping = refuse_unmap;
    bw_client *client = attach(&options);
    bw_lease lease;
    bw_slice slice;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    CHECK_EQUAL(BW_OK, bw_own_slice(client, &lease, 0, &slice, &error));
    slice.data[5] ^= 1;
    CHECK_EQUAL(BW_ERROR_CORRUPT, bw_release(&lease, &error));
    CHECK(strstr(error.text, "rank=-1 dp=0") != NULL);
    CHECK(fake_acked(client->current->reader_name, 0));
    bw_close(client);
    CHECK(seen[0] != NULL && seen[0] == seen[1]);
    CHECK(munmap(seen[1], FAKE_RING) == 0);
    fake_stop();
}

static bool refuse_map(void *context, void *base, size_t length) {
    CHECK(base != NULL && length == FAKE_RING);
    ++*(int *)context;
    return false;
}

static bool never_unmap(void *context, void *base, size_t length) {
    (void)context;
    (void)base;
    (void)length;
    CHECK(!"what was refused is not taken back");
    return true;
}

static void should_map_private_when_the_caller_refuses_a_shared_ring(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    int asked = 0;
    options.views = BW_VIEWS_SHARED_WRITABLE;
    options.context = &asked;
    options.mapped = refuse_map;
    options.unmapping = never_unmap;
    bw_client *client = attach(&options);
    bw_info info;
    CHECK_EQUAL(BW_OK, bw_info_of(client, &info, &error));
    CHECK(info.views == BW_VIEWS_PRIVATE || info.views == BW_VIEWS_COPY);
    CHECK_EQUAL(1, asked);
    bw_lease lease;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    if (info.views == BW_VIEWS_PRIVATE) {
        lease.region[FAKE_PAGE] ^= 1;
        CHECK(lease.region[FAKE_PAGE] != fake.data[FAKE_PAGE]);
    }
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    CHECK(lease.region[FAKE_PAGE] == fake.data[FAKE_PAGE]);
    bw_close(client);
    options.views_required = true;
    CHECK_EQUAL(BW_ERROR_ARGUMENT, bw_attach(&options, SECONDS(5), &client, &error));
    CHECK(client == NULL && strstr(error.text, "refused the mapping") != NULL);
    CHECK_EQUAL(2, asked);
    CHECK_EQUAL(0, fake_readers());
    fake_stop();
}

static void should_be_inert_in_a_forked_child(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    char reader[48];
    memcpy(reader, client->current->reader_name, sizeof reader);
    int gate[2];
    CHECK(pipe(gate) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        bw_lease other;
        bw_info info;
        CHECK_EQUAL(BW_ERROR_FORKED, bw_next(client, SECONDS(5), &other, &error));
        CHECK_EQUAL(BW_ERROR_FORKED, bw_release(&lease, &error));
        CHECK_EQUAL(BW_ERROR_FORKED, bw_info_of(client, &info, &error));
        bw_after_fork_child(client);
        bw_close(client);
        char byte = 0;
        (void)close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1); /* lives on until the parent is through */
    }
    CHECK_EQUAL(1, bw_load_acquire_u64(&client->current->reader->taken));
    CHECK(!fake_acked(reader, 0));
    CHECK(fake_reader_lives(reader));
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    fake_publish(1, 1);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    const pid_t grandchild = fork();
    CHECK(grandchild >= 0);
    if (grandchild == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        const volatile uint8_t *inherited = lease.region;
        _exit((int)(inherited[0] & 0u)); /* not mapped here: dies */
    }
    int status = 0;
    CHECK(waitpid(grandchild, &status, 0) == grandchild);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    bw_close(client);
    CHECK(!fake_reader_lives(reader)); /* although a child is alive */
    CHECK_EQUAL(0, fake_readers());
    (void)close(gate[1]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(gate[0]);
    fake_stop();
}

static void should_read_a_lease_after_close(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_lease lease;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    bw_slice slice;
    CHECK_EQUAL(BW_OK, bw_own_slice(client, &lease, 0, &slice, &error));
    bw_close(client);
    CHECK_EQUAL(fake_byte(0, 0, 0), slice.data[0]);
    CHECK_EQUAL(1, fake_readers());
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    CHECK_EQUAL(0, fake_readers());
    fake_stop();
}

static void should_lose_its_lock_when_killed(void) {
    const char *const steps[] = {"reader-created", "reader-locked", "reader-born", "mapped", "attached", "waiting",
        "slot", "taken", "release", "acked"};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        fake_start(directory, 1, 1);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(setenv("BW_KILL_AT", steps[i], 1) == 0);
            bw_options options = fake_options();
            bw_client *client = attach(&options);
            bw_lease lease;
            for (;;) {
                CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
                CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
            }
        }
        const int64_t deadline_ns = bw_deadline_ns(SECONDS(20));
        int status = 0;
        uint64_t n = 0;
        for (pid_t ended = 0; ended == 0;) {
            CHECK(bw_now_ns() < deadline_ns);
            bw_sleep_ns(MILLIS(2));
            if (n < FAKE_SLOTS) {
                fake_publish(n, (int64_t)n);
                ++n;
            }
            ended = waitpid(child, &status, WNOHANG);
            CHECK(ended >= 0);
        }
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        DIR *folder = opendir(fake.directory);
        CHECK(folder != NULL);
        for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            CHECK(strstr(entry->d_name, ".reader") == NULL || !fake_reader_lives(entry->d_name));
        }
        CHECK(closedir(folder) == 0);
        bw_options options = fake_options();
        bw_client *client = attach(&options); /* the next one is not disturbed */
        bw_close(client);
        fake_stop();
    }
}

static int unlinks;

static void unlink_newborn(const char *name) {
    if (strcmp(name, "reader-created") == 0 && unlinks < 3) {
        DIR *folder = opendir(fake.directory);
        CHECK(folder != NULL);
        for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            if (strstr(entry->d_name, ".reader") != NULL) {
                char path[BW_PATH_CAPACITY];
                fake_path(path, entry->d_name);
                CHECK(unlink(path) == 0);
                ++unlinks;
            }
        }
        CHECK(closedir(folder) == 0);
    }
}

static void should_make_another_reader_file_when_a_starting_daemon_removed_it(void) {
    fake_start(directory, 1, 1);
    bw_test_hook = unlink_newborn;
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    bw_test_hook = NULL;
    CHECK_EQUAL(3, unlinks);
    CHECK_EQUAL(1, fake_readers());
    CHECK(fake_reader_lives(client->current->reader_name));
    bw_close(client);
    fake_stop();
}

static bool stop_now(void *context) {
    int *asked = (int *)context;
    return ++*asked > 2;
}

static void should_stop_waiting_when_the_caller_wants(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    int asked = -1000;
    options.context = &asked;
    options.interrupted = stop_now;
    bw_client *client = attach(&options);
    asked = 0;
    bw_lease lease;
    CHECK_EQUAL(BW_ERROR_INTERRUPTED, bw_next(client, SECONDS(60), &lease, &error));
    CHECK_EQUAL(3, asked);
    asked = -1000;
    fake_publish(0, 0);
    CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(5), &lease, &error));
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    bw_close(client);
    fake_stop();
}

/** A media driver that answers nothing. It beats once, ahead of time: this process may stall before it looks. */
static void start_silent_driver(void) {
    enum { COMMANDS = 4096, EVENTS = 4096, LENGTH = 128 + COMMANDS + BW_AERON_RING_TRAILER + EVENTS + BW_AERON_BROADCAST_TRAILER };
    char path[BW_PATH_CAPACITY];
    fake_path(path, "aeron");
    CHECK(mkdir(path, 0700) == 0);
    uint8_t *cnc = (uint8_t *)fake_map("aeron/cnc.dat", LENGTH);
    bw_put_i32(cnc + BW_AERON_CNC_TO_DRIVER_LENGTH, COMMANDS + BW_AERON_RING_TRAILER);
    bw_put_i32(cnc + BW_AERON_CNC_TO_CLIENTS_LENGTH, EVENTS + BW_AERON_BROADCAST_TRAILER);
    struct timespec wall;
    CHECK(clock_gettime(CLOCK_REALTIME, &wall) == 0);
    bw_put_i64(cnc + 128 + COMMANDS + BW_AERON_RING_HEARTBEAT, (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000 + 900);
    bw_put_i32(cnc + BW_AERON_CNC_VERSION, 0x000200);
    CHECK(munmap(cnc, LENGTH) == 0);
}

static void should_ring_when_it_waits_for_the_driver(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    bw_client *client = attach(&options);
    start_silent_driver();
    const uint32_t rung = bw_load_acquire_u32(&fake.doorbell->word);
    bw_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.stream = hello.group = hello.session = hello.reader_file = hello.previous_reader_file = "";
    bw_welcome welcome;
    bw_refused refused;
    CHECK_EQUAL(BW_ERROR_STARVED,
            bw_exchange(client, &hello, &welcome, &refused, bw_deadline_ns(MILLIS(100)), &error));
    CHECK_EQUAL(rung + 1, bw_load_acquire_u32(&fake.doorbell->word));
    char path[BW_PATH_CAPACITY];
    fake_path(path, "aeron/cnc.dat");
    CHECK(unlink(path) == 0);
    fake_path(path, "aeron");
    CHECK(rmdir(path) == 0);
    bw_close(client);
    fake_stop();
}

enum { ROUNDS = 5000 };

/** Publishes as fast as the reader acks. */
static void *publish_rounds(void *argument) {
    const bw_reader *reader = (const bw_reader *)argument;
    const int64_t deadline_ns = bw_deadline_ns(SECONDS(120));
    for (uint64_t n = 0; n < ROUNDS; ++n) {
        for (;;) {
            const uint32_t word = bw_load_acquire_u32(&fake.doorbell->word); /* SYNC POINT: doorbell */
            if (n < FAKE_SLOTS || bw_load_acquire_u64(&reader->ack[n % FAKE_SLOTS]) ==
                            BW_ACK_RELEASED(n - FAKE_SLOTS)) {
                break;
            }
            CHECK(bw_now_ns() < deadline_ns);
            bw_futex_wait(&fake.doorbell->word, word, SECONDS(120)); /* a lost wake-up fails the test */
        }
        fake_publish(n, (int64_t)n);
    }
    return NULL;
}

static bw_lease queue[4];
static uint32_t queued[4];

static void *release_rounds(void *argument) {
    (void)argument;
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        while (__atomic_load_n(&queued[i % 4], __ATOMIC_ACQUIRE) == 0) {
            (void)sched_yield();
        }
        bw_error mine;
        CHECK_EQUAL(BW_OK, bw_release(&queue[i % 4], &mine));
        __atomic_store_n(&queued[i % 4], 0u, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void should_lose_no_wake_up_while_another_thread_releases(void) {
    fake_start(directory, 1, 1);
    bw_options options = fake_options();
    options.spin_rounds = 0;
    bw_client *client = attach(&options);
    pthread_t writer;
    pthread_t releaser;
    CHECK(pthread_create(&writer, NULL, publish_rounds, client->current->reader) == 0);
    CHECK(pthread_create(&releaser, NULL, release_rounds, NULL) == 0);
    for (uint32_t i = 0; i < ROUNDS; ++i) {
        while (__atomic_load_n(&queued[i % 4], __ATOMIC_ACQUIRE) != 0) {
            (void)sched_yield();
        }
        CHECK_EQUAL(BW_OK, bw_next(client, SECONDS(30), &queue[i % 4], &error));
        check_lease(client, &queue[i % 4], (int64_t)i);
        __atomic_store_n(&queued[i % 4], 1u, __ATOMIC_RELEASE);
    }
    CHECK(pthread_join(writer, NULL) == 0 && pthread_join(releaser, NULL) == 0);
    CHECK_EQUAL(0, __atomic_load_n(&client->leases, __ATOMIC_ACQUIRE));
    bw_close(client);
    fake_stop();
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    directory = arguments[1];
    should_take_in_order_and_release_in_any();
    should_keep_leases_over_a_change_of_generation();
    should_keep_its_files_until_it_comes_to_an_open_generation();
    should_wait_for_the_next_daemon();
    should_end_or_fail_as_the_last_descriptor_says();
    should_raise_ring_held_when_its_own_leases_are_in_the_way();
    should_refuse_what_a_damaged_ring_says();
    should_refuse_damaged_control_files();
    should_tell_refusals_and_versions_apart();
    should_keep_edits_private_and_drop_them_at_release();
    should_show_the_ring_where_pages_were_copied_before_the_take();
    should_show_the_ring_where_only_later_pages_of_a_region_are_copies();
#ifdef LOCKS_MEMORY
    should_notice_mlockall_though_it_is_over();
    should_fall_back_to_copies_under_mlockall();
#endif
    should_map_shared_and_name_who_broke_a_slice();
    should_map_private_when_the_caller_refuses_a_shared_ring();
    should_be_inert_in_a_forked_child();
    should_read_a_lease_after_close();
    should_lose_its_lock_when_killed();
    should_make_another_reader_file_when_a_starting_daemon_removed_it();
    should_stop_waiting_when_the_caller_wants();
    should_ring_when_it_waits_for_the_driver();
    should_lose_no_wake_up_while_another_thread_releases();
    return 0;
}
