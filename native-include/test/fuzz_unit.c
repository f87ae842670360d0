/*
 * What a rank reads of others, damaged at random: control file, descriptors, tables, doorbell, Welcome,
 * daemon.json, slices. Whatever they say, the client answers with a status, and a slice it hands out lies in
 * the ring. Meant for the address and undefined-behaviour sanitizers. Arguments: a directory of its own on a
 * tmpfs, the seed, the rounds; a failure is repeated by its seed.
 */
#include "fake_daemon.h"

#include "../batchweave_safetensors.h"

static uint64_t random_state;

/** splitmix64: the same everywhere. */
static uint64_t next_random(void) {
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t below(size_t bound) {
    return (size_t)(next_random() % bound);
}

/** Values at which checks of sizes and offsets go wrong. */
static uint64_t awkward(void) {
    static const uint64_t values[] = {0, 1, 2, 63, 64, 65, 100, FAKE_PAGE, FAKE_PAGE - 1, FAKE_REGION, FAKE_REGION + 64,
        FAKE_RING, FAKE_RING - 64, INT32_MAX, (uint64_t)INT32_MAX + 1, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
        UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - FAKE_PAGE + 1};
    return values[below(sizeof values / sizeof values[0])];
}

/** Damages one to four places of [bytes, bytes + length). */
static void damage(void *bytes, size_t length) {
    for (size_t i = 1 + below(4); i > 0; --i) {
        uint8_t *at = (uint8_t *)bytes + below(length);
        const size_t left = length - (size_t)(at - (uint8_t *)bytes);
        const uint64_t value = next_random() % 2 == 0 ? awkward() : next_random();
        const size_t width = (size_t)1 << below(4);
        if (next_random() % 4 != 0) { /* most fields are aligned */
            at -= (uintptr_t)at % width <= (uintptr_t)(at - (uint8_t *)bytes) ? (uintptr_t)at % width : 0;
        }
        memcpy(at, &value, width < left ? width : left);
    }
}

static void damage_welcome(bw_welcome *welcome) {
    static const char *const names[] = {"", ".", "..", "../ring-0.data", "/etc/passwd", "ring-0.data", "doorbell",
        "daemon.lock", "aeron", "nothing"};
    if (next_random() % 2 == 0) {
        damage(welcome, offsetof(bw_welcome, control_file));
    } else {
        char *name = next_random() % 2 == 0 ? welcome->control_file : welcome->data_file;
        (void)snprintf(name, sizeof welcome->data_file, "%s", names[below(sizeof names / sizeof names[0])]);
    }
}

/** Damages one of the things that the daemon writes. */
static void damage_something(size_t which) {
    switch (which) {
        case 0: damage(fake.control, sizeof *fake.control); break;
        case 1: damage(fake_descriptor(0), BW_DESCRIPTOR_LENGTH); break;
        case 2: damage(fake.data, BW_TABLE_LENGTH); break;
        case 3: damage(fake.data + BW_TABLE_LENGTH, (size_t)2 * BW_TABLE_ENTRY_LENGTH); break;
        case 4: damage(fake.doorbell, BW_DOORBELL_LENGTH); break;
        case 5: fake.mangle = damage_welcome; break;
        default: damage(fake.control, 8192); break;
    }
}

/** A slice may hold anything, but it lies in the ring. */
static void check_slices(const bw_client *client, const bw_lease *lease) {
    const bw_mapping *mapping = lease->attachment->mapping;
    CHECK(lease->region >= mapping->base && lease->region_length <= mapping->length);
    CHECK((size_t)(lease->region - mapping->base) <= mapping->length - lease->region_length);
    bw_error error;
    for (uint32_t i = 0; i < lease->slice_count + 1; ++i) {
        bw_slice slice;
        const bw_status status = i < lease->own_count ? bw_own_slice(client, lease, i, &slice, &error)
                                                      : bw_slice_at(lease, i, &slice, &error);
        if (status == BW_OK) {
            CHECK(slice.data >= lease->region && slice.length <= lease->region_length);
            CHECK((uint64_t)(slice.data - lease->region) <= lease->region_length - slice.length);
            (void)bw_slice_check(lease, &slice, &error); /* reads all of it */
        } else {
            CHECK(status == BW_ERROR_CORRUPT || status == BW_ERROR_ARGUMENT);
        }
    }
}

static void check_error(bw_status status, const bw_error *error) {
    CHECK(status == BW_ERROR_CORRUPT || status == BW_ERROR_VERSION || status == BW_ERROR_DEADLINE ||
            status == BW_ERROR_SYSTEM || status == BW_ERROR_STEP_FAILED || status == BW_ERROR_SUPERSEDED ||
            status == BW_END_OF_STREAM || status == BW_ERROR_RING_HELD);
    CHECK(status == BW_END_OF_STREAM || error->text[0] != '\0');
    CHECK(memchr(error->text, '\0', sizeof error->text) != NULL);
}

static void attach_and_take(const char *directory, size_t which, bool before) {
    fake_start(directory, 2, 1);
    bw_options options = fake_options();
    options.views = next_random() % 2 == 0 ? BW_VIEWS_PRIVATE : BW_VIEWS_SHARED;
    options.check_on_take = next_random() % 2 == 0;
    bw_error error;
    bw_client *client = NULL;
    if (next_random() % 4 != 0) {
        fake_publish(0, 0);
    } else {
        fake_publish_last(0, 0, next_random() % 2 == 0 ? BW_KIND_FAILED : BW_KIND_END, BW_FAILED_RECLAIMED, "gone");
    }
    if (next_random() % 16 == 0) {
        fake_close(BW_CLOSED_RETRY);
    }
    if (before) {
        damage_something(which);
    }
    bw_status status = bw_attach(&options, 1000000, &client, &error);
    if (status == BW_OK) {
        if (!before) {
            damage_something(which);
        }
        bw_lease lease;
        status = bw_next(client, 1000000, &lease, &error);
        if (status == BW_OK) {
            check_slices(client, &lease);
            const uint64_t n = lease.n;
            CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
            CHECK(n >= FAKE_SLOTS || client->current->descriptor_count != FAKE_SLOTS ||
                    fake_acked(client->current->reader_name, n));
        } else {
            check_error(status, &error);
        }
        bw_close(client);
    } else {
        check_error(status, &error);
    }
    CHECK_EQUAL(0, fake_readers());
    fake_stop();
}

/** In memory of exactly its length, so that a byte too far is seen. */
static void read_json(void) {
    static const char sound[] = "{\"format\":1,\"abi\": 1, \"aeron\":\"1.51.0\",\"streams\":[{\"url\":\"s3:\\u002f\"}]}";
    const size_t length = below(sizeof sound);
    char *json = (char *)malloc(length + 1);
    char value[16];
    CHECK(json != NULL);
    memcpy(json, sound, length);
    if (length > 0) {
        damage(json, length);
    }
    char *exact = (char *)realloc(json, length > 0 ? length : 1);
    CHECK(exact != NULL);
    if (bw_json_field(exact, length, next_random() % 2 == 0 ? "abi" : "aeron", value, sizeof value)) {
        CHECK(memchr(value, '\0', sizeof value) != NULL);
    }
    free(exact);
}

static void read_slice(void) {
    static const char header[] = "{\"__metadata__\":{\"a\":\"b\\n\"},\"x\":{\"dtype\":\"I32\",\"shape\":[2,3],"
                                 "\"data_offsets\":[0,24]},\"y\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]}}";
    const uint64_t header_length = sizeof header - 1;
    const size_t length = 8 + sizeof header - 1 + 26;
    uint8_t *slice = (uint8_t *)calloc(1, length);
    CHECK(slice != NULL);
    memcpy(slice, &header_length, sizeof header_length);
    memcpy(slice + 8, header, sizeof header - 1);
    for (size_t i = below(4); i > 0; --i) {
        slice[below(length)] = (uint8_t)next_random();
    }
    bw_safetensors_table table;
    bw_safetensors_error error = {0, NULL};
    memset(&table, 0, sizeof table);
    const size_t seen = next_random() % 4 == 0 ? below(length + 1) : length;
    uint8_t *exact = (uint8_t *)realloc(slice, seen > 0 ? seen : 1);
    CHECK(exact != NULL);
    if (bw_safetensors_parse(exact, seen, &table, &error) == BW_SAFETENSORS_OK) {
        for (uint32_t i = 0; i < table.count; ++i) {
            const bw_safetensors_tensor *tensor = &table.tensors[i];
            CHECK(tensor->offset <= seen && tensor->length_bytes <= seen - tensor->offset);
        }
    } else {
        CHECK(error.reason != NULL);
    }
    bw_safetensors_free(&table);
    free(exact);
}

int main(int count, char **arguments) {
    const uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    const size_t rounds = count > 3 ? strtoull(arguments[3], NULL, 10) : 1500;
    CHECK(count >= 2);
    random_state = seed;
    for (size_t round = 0; round < rounds; ++round) {
        attach_and_take(arguments[1], round % 7, round % 2 == 0);
        for (int i = 0; i < 50; ++i) {
            read_json();
            read_slice();
        }
    }
    return 0;
}
