/*
 * A rank of the soak: checks every word of every step and says so, a line each, until the stream ends.
 * Word i of slice (step, dp) is step << 32 | dp << 24 | i, little-endian.
 *
 * Arguments: directory, stream, dp, ranks, first step, seconds to wait at most.
 */
#include "run_options.h"

static bw_status check(const bw_client *client, const bw_lease *lease, bool *right, bw_error *error) {
    bw_slice slice;
    const bw_status status = bw_own_slice(client, lease, 0, &slice, error);
    if (status != BW_OK) {
        return status;
    }
    const uint64_t base = (uint64_t)lease->step << 32 | (uint64_t)client->options.dp << 24;
    *right = slice.length > 0 && slice.length % 8 == 0;
    for (uint64_t i = 0; i < slice.length / 8; ++i) {
        uint64_t word;
        memcpy(&word, (const char *)slice.data + i * 8, sizeof word);
        *right = *right && word == (base | i);
    }
    return BW_OK;
}

int main(int count, char **arguments) {
    if (count != 7) {
        return 2;
    }
    bw_options options = run_options(arguments[1], arguments[2]);
    options.rank = (int32_t)strtol(arguments[3], NULL, 10);
    options.dp = (uint32_t)options.rank;
    options.dp_size = (uint32_t)strtoul(arguments[4], NULL, 10);
    options.local_readers = options.dp_size;
    options.next_step = strtoll(arguments[5], NULL, 10);
    const int64_t timeout_ns = strtoll(arguments[6], NULL, 10) * BW_SECOND_NS;
    bw_error error;
    bw_client *client = NULL;
    bw_status status = bw_attach(&options, timeout_ns, &client, &error);
    bw_lease before;
    bool held = false;
    while (status == BW_OK) {
        bw_lease lease;
        status = bw_next(client, timeout_ns, &lease, &error);
        if (held) {
            const bw_status released = bw_release(&before, status == BW_OK ? &error : NULL);
            status = status == BW_OK ? released : status;
            held = false;
        }
        if (status == BW_OK) {
            bool right = false;
            status = check(client, &lease, &right, &error);
            (void)printf("%s %lld\n", right ? "step" : "WRONG", (long long)lease.step);
            (void)fflush(stdout);
            before = lease;
            held = true;
        }
    }
    if (status == BW_END_OF_STREAM) {
        (void)printf("end\n");
    } else {
        (void)printf("error %s %s\n", bw_status_name(status), error.text);
    }
    bw_close(client);
    return status == BW_END_OF_STREAM ? 0 : 1;
}
