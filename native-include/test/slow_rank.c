/*
 * A rank that sleeps over every step: takes it, reads all of it, says so, and waits for a line before it gives
 * it back. Arguments: directory, stream, seconds to wait at most.
 */
#include "check.h"

#include "run_options.h"

int main(int count, char **arguments) {
    CHECK(count == 4);
    const bw_options options = run_options(arguments[1], arguments[2]);
    const int64_t timeout_ns = strtoll(arguments[3], NULL, 10) * BW_SECOND_NS;
    bw_error error;
    bw_client *client = NULL;
    bw_lease lease;
    CHECK_EQUAL(BW_OK, bw_attach(&options, timeout_ns, &client, &error));
    bw_status status = bw_next(client, timeout_ns, &lease, &error);
    while (status == BW_OK) {
        CHECK_EQUAL(BW_OK, bw_own_slices_check(client, &lease, &error));
        (void)printf("step=%lld\n", (long long)lease.step);
        (void)fflush(stdout);
        CHECK(getchar() == '\n');
        CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
        status = bw_next(client, timeout_ns, &lease, &error);
    }
    (void)printf("%s\n", bw_status_name(status));
    bw_close(client);
    return 0;
}
