/*
 * A trainer loop in C: attaches, reads steps, prints the checksum of this rank's bytes of each, and writes
 * the resume token when it is done.
 *
 *   cc -std=c11 -O2 trainer.c -o trainer
 *   ./trainer --stream s3://bucket/corpus --group run --session run-0 --rank 3 --world 8 --local 8 \
 *             --steps 100 --token checkpoint.token
 *
 * --dir names the daemon's directory; --from the first step; an existing token file is resumed from.
 */
#include "../batchweave.h"

typedef struct settings {
    bw_options options;
    const char *token_file;
    uint8_t token[BW_TOKEN_LENGTH];
    int64_t steps;
    int64_t timeout_ns;
} settings;

static int usage(const char *what) {
    (void)fprintf(stderr,
            "trainer: %s\nusage: trainer --stream URL --group NAME --session NAME [--dir PATH] [--rank N]"
            " [--world N] [--local N] [--steps N] [--from STEP] [--token FILE] [--seconds N]\n",
            what);
    return 2;
}

/** Reads the command line; 0, or the exit code. */
static int parse(settings *set, int count, char **arguments) {
    bw_options_init(&set->options);
    set->options.check_on_take = true;
    set->steps = INT64_MAX;
    set->timeout_ns = 60 * BW_SECOND_NS;
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = arguments[i];
        const char *value = arguments[i + 1];
        if (strcmp(name, "--stream") == 0) {
            set->options.stream = value;
        } else if (strcmp(name, "--group") == 0) {
            set->options.group = value;
        } else if (strcmp(name, "--session") == 0) {
            set->options.session = value;
        } else if (strcmp(name, "--dir") == 0) {
            set->options.directory = value;
        } else if (strcmp(name, "--rank") == 0) {
            set->options.rank = (int32_t)strtol(value, NULL, 10);
            set->options.dp = (uint32_t)set->options.rank;
        } else if (strcmp(name, "--world") == 0) {
            set->options.dp_size = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--local") == 0) {
            set->options.local_readers = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(name, "--steps") == 0) {
            set->steps = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--from") == 0) {
            set->options.next_step = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--seconds") == 0) {
            set->timeout_ns = strtoll(value, NULL, 10) * BW_SECOND_NS;
        } else if (strcmp(name, "--token") == 0) {
            set->token_file = value;
        } else {
            return usage(name);
        }
    }
    return count % 2 == 1 ? 0 : usage("an option without its value");
}

static void load_token(settings *set) {
    FILE *file = set->token_file != NULL ? fopen(set->token_file, "rb") : NULL;
    if (file != NULL) {
        set->options.token_length = fread(set->token, 1, sizeof set->token, file);
        set->options.token = set->token;
        (void)fclose(file);
    }
}

static int save_token(const settings *set, const bw_client *client, int64_t next_step) {
    bw_error error;
    uint8_t token[BW_TOKEN_LENGTH];
    if (set->token_file == NULL) {
        return 0;
    }
    if (bw_token(client, next_step, token, &error) != BW_OK) {
        (void)fprintf(stderr, "trainer: %s\n", error.text);
        return 1;
    }
    FILE *file = fopen(set->token_file, "wb");
    const bool written = file != NULL && fwrite(token, sizeof token, 1, file) == 1;
    return file != NULL && fclose(file) == 0 && written ? 0 : 1;
}

/** What would be the forward and backward pass. */
static bw_status train(const bw_client *client, const bw_lease *lease, bw_error *error) {
    uint32_t crc = 0;
    uint64_t length = 0;
    for (uint32_t i = 0; i < lease->own_count; ++i) {
        bw_slice slice;
        const bw_status status = bw_own_slice(client, lease, i, &slice, error);
        if (status != BW_OK) {
            return status;
        }
        crc = bw_crc32c(crc, slice.data, (size_t)slice.length);
        length += slice.length;
    }
    (void)printf("step=%lld bytes=%llu crc32c=%08x\n", (long long)lease->step, (unsigned long long)length, crc);
    (void)fflush(stdout);
    return BW_OK;
}

static void notice(void *context, const char *line) {
    (void)context;
    (void)fprintf(stderr, "%s\n", line);
}

int main(int count, char **arguments) {
    settings set;
    memset(&set, 0, sizeof set);
    const int wrong = parse(&set, count, arguments);
    if (wrong != 0) {
        return wrong;
    }
    load_token(&set);
    set.options.notice = notice;
    bw_error error;
    bw_client *client = NULL;
    bw_status status = bw_attach(&set.options, set.timeout_ns, &client, &error);
    int64_t next_step = BW_NO_STEP;
    for (int64_t i = 0; i < set.steps && status == BW_OK; ++i) {
        bw_lease lease;
        status = bw_next(client, set.timeout_ns, &lease, &error);
        if (status != BW_OK) {
            break;
        }
        next_step = lease.next_step;
        status = train(client, &lease, &error);
        const bw_status released = bw_release(&lease, status == BW_OK ? &error : NULL);
        status = status == BW_OK ? released : status;
    }
    int exit_code = status == BW_OK || status == BW_END_OF_STREAM ? 0 : status == BW_ERROR_SUPERSEDED ? 3 : 1;
    if (exit_code != 0) {
        (void)fprintf(stderr, "trainer: %s %s\n", bw_status_name(status), error.text);
    } else if (next_step >= 0) {
        exit_code = save_token(&set, client, next_step);
    }
    if (status == BW_END_OF_STREAM) {
        (void)printf("end\n");
    }
    bw_close(client);
    return exit_code;
}
