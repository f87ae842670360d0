/*
 * The Aeron client against a real media driver with an echo. Arguments: connect|echo, the driver's directory,
 * milliseconds, and for echo the stream of the echo and the number of messages. Each message begins with the
 * stream to answer on; the answer is the same bytes. Prints the name of the last status.
 */
#include "check.h"

#include "../batchweave_aeron.h"

static bw_status echo(const char *driver, int32_t stream_id, int messages, int64_t deadline_ns, bw_error *error) {
    bw_aeron aeron;
    bw_status status = bw_aeron_connect(&aeron, driver, INT64_C(1000000000), deadline_ns, error);
    if (status != BW_OK) {
        return status;
    }
    bw_aeron_publication publication;
    bw_aeron_subscription subscription;
    memset(&publication, 0, sizeof publication);
    memset(&subscription, 0, sizeof subscription);
    const int32_t answers = (int32_t)bw_aeron_next_correlation_id(&aeron);
    status = bw_aeron_add_subscription(&aeron, &subscription, answers, deadline_ns, error);
    if (status == BW_OK) {
        status = bw_aeron_add_publication(&aeron, &publication, stream_id, deadline_ns, error);
    }
    for (int i = 0; i < messages && status == BW_OK; ++i) {
        uint8_t message[1376];
        uint8_t answer[1376];
        const int32_t wanted = 4 + i * 131 % 1373;
        int32_t length = 0;
        memset(message, i, sizeof message);
        bw_put_i32(message, answers);
        status = bw_aeron_offer_until(&aeron, &publication, message, wanted, deadline_ns, error);
        if (status == BW_OK) {
            status = bw_aeron_poll_until(
                    &aeron, &subscription, answer, (int32_t)sizeof answer, &length, deadline_ns, error);
        }
        if (status == BW_OK) {
            CHECK_EQUAL(wanted, length);
            CHECK(memcmp(message, answer, (size_t)length) == 0);
        }
    }
    if (status == BW_OK) {
        status = bw_aeron_remove_publication(&aeron, &publication, deadline_ns, error);
    }
    BW_STEP("removed");
    if (status == BW_OK) {
        status = bw_aeron_remove_subscription(&aeron, &subscription, deadline_ns, error);
    }
    bw_aeron_log_close(&publication.log);
    bw_aeron_log_close(&subscription.log);
    bw_aeron_close(&aeron);
    return status;
}

int main(int count, char **arguments) {
    CHECK(count >= 4);
    const int64_t timeout_ns = atoll(arguments[3]) * INT64_C(1000000);
    bw_error error;
    bw_error_clear(&error);
    bw_status status;
    if (strcmp(arguments[1], "connect") == 0) {
        bw_aeron aeron;
        status = bw_aeron_connect(&aeron, arguments[2], INT64_C(300000000), bw_deadline_ns(timeout_ns), &error);
        if (status == BW_OK) {
            bw_aeron_close(&aeron);
        }
    } else {
        CHECK(count == 6);
        /* An attempt may be starved by a client that died in the middle of a command: try again. */
        const int64_t deadline_ns = bw_deadline_ns(timeout_ns);
        do {
            const int messages = atoi(arguments[5]);
            int64_t attempt_ns = bw_deadline_ns(INT64_C(2000000000) + messages * INT64_C(50000000));
            attempt_ns = attempt_ns < deadline_ns ? attempt_ns : deadline_ns;
            status = echo(arguments[2], atoi(arguments[4]), messages, attempt_ns, &error);
        } while (status == BW_ERROR_STARVED && bw_now_ns() < deadline_ns);
    }
    (void)printf("%s %s\n", bw_status_name(status), status == BW_OK ? "" : error.text);
    return status == BW_OK ? 0 : 1;
}
