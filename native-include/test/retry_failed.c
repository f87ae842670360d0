/*
 * A step that fails for good, and another try of it on the same client. Arguments: directory, stream. Says
 * `failed` with the reason, waits for a line, then takes the step.
 */
#include "check.h"

#include "run_options.h"

int main(int count, char **arguments) {
    CHECK(count == 3);
    const bw_options options = run_options(arguments[1], arguments[2]);
    bw_error error;
    bw_client *client = NULL;
    bw_lease lease;
    CHECK_EQUAL(BW_OK, bw_attach(&options, 30 * BW_SECOND_NS, &client, &error));
    CHECK_EQUAL(BW_ERROR_STEP_FAILED, bw_next(client, 30 * BW_SECOND_NS, &lease, &error));
    (void)printf("failed reason=%d step=%lld %s\n", error.refused_code, (long long)error.step, error.text);
    (void)fflush(stdout);
    CHECK(getchar() == '\n');
    const bw_status status = bw_next(client, 30 * BW_SECOND_NS, &lease, &error);
    if (status != BW_OK) {
        (void)fprintf(stderr, "%s %s\n", bw_status_name(status), error.text);
    }
    CHECK_EQUAL(BW_OK, status);
    (void)printf("taken step=%lld\n", (long long)lease.step);
    CHECK_EQUAL(BW_OK, bw_own_slices_check(client, &lease, &error));
    CHECK_EQUAL(BW_OK, bw_release(&lease, &error));
    bw_close(client);
    return 0;
}
