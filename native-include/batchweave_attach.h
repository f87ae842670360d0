/*
 * From a client to an attached rank: exchange Hello and Welcome with the daemon, map what Welcome names.
 * README.md beside this file and the package page of io.batchweave.bridge.handshake are the protocol.
 */
#ifndef BATCHWEAVE_ATTACH_H
#define BATCHWEAVE_ATTACH_H

#include "batchweave_base.h"

#include "batchweave_abi.h"
#include "batchweave_aeron.h"
#include "batchweave_handshake.h"
#include "batchweave_node.h"
#include "batchweave_types.h"

#include <sys/statvfs.h>

/** One attempt of the exchange, from adding the publication to the answer. */
#define BW_ATTEMPT_NS INT64_C(1500000000)
/** A media driver without a heartbeat for this long is dead. */
#define BW_DRIVER_TIMEOUT_NS INT64_C(500000000)
/** What an exchange takes of the directory's file system: one log of the driver each way. */
#define BW_EXCHANGE_LENGTH (2 * (BW_AERON_PARTITIONS * BW_AERON_TERM_MIN_LENGTH + BW_AERON_LOG_META_LENGTH))

/* ---------------------------------------------------------------- the exchange */

/** Says one thing and waits for the answer to this very message. BW_OK: `answer` has it, a refusal included. */
static inline bw_status bw_exchange_once(bw_aeron *aeron, const bw_aeron_publication *publication,
        bw_aeron_subscription *subscription, uint8_t *request, size_t length, bw_answer *answer,
        int64_t deadline_ns, bw_error *error) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    const int64_t attempt = bw_aeron_next_correlation_id(aeron);
    bw_request_address(request, attempt, subscription->stream_id);
    bw_status status = bw_aeron_offer_until(aeron, publication, request, (int32_t)length, deadline_ns, error);
    BW_STEP("hello");
    while (status == BW_OK) {
        int32_t got = 0;
        status = bw_aeron_poll_until(
                aeron, subscription, message, (int32_t)sizeof message, &got, deadline_ns, error);
        if (status != BW_OK) {
            break;
        }
        if (!bw_answer_decode(message, (size_t)got, answer)) {
            return bw_fail(error, BW_ERROR_CORRUPT, "answer of the daemon is malformed: bytes=%d", got);
        }
        if (answer->attempt == attempt) {
            BW_STEP("welcome");
            return BW_OK;
        }
    }
    return status;
}

/** Wakes a daemon that sleeps: Aeron does not. */
static inline void bw_call_daemon(void *doorbell) {
    bw_ring_doorbell((bw_doorbell *)doorbell);
}

/** One Aeron client: says an encoded request until something other than NOT_YET comes back. */
static inline bw_status bw_exchange_message(bw_client *client, uint8_t *request, size_t length, bw_answer *answer,
        int64_t deadline_ns, bw_error *error) {
    if (length == 0) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "what is to be said exceeds one message: stream=%s", client->stream);
    }
    const bw_refused *refused = &answer->refused;
    char directory[BW_PATH_CAPACITY];
    if (!bw_path_join(directory, sizeof directory, client->directory, "aeron")) {
        return bw_fail(error, BW_ERROR_ARGUMENT, "path too long: directory=%s", client->directory);
    }
    bw_aeron aeron;
    bw_aeron_publication publication;
    bw_aeron_subscription subscription;
    memset(&publication, 0, sizeof publication);
    memset(&subscription, 0, sizeof subscription);
    int64_t attempt_ns = bw_now_ns() + BW_ATTEMPT_NS;
    attempt_ns = attempt_ns < deadline_ns ? attempt_ns : deadline_ns;
    bw_status status = bw_aeron_connect(&aeron, directory, BW_DRIVER_TIMEOUT_NS, attempt_ns, error);
    if (status != BW_OK) {
        return status;
    }
    aeron.stop = bw_stopped;
    aeron.stop_context = client;
    bw_doorbell *doorbell = NULL;
    bw_error unheard; /* without a doorbell the daemon looks by itself a little later */
    if (bw_doorbell_map(client, &doorbell, &unheard) == BW_OK) {
        aeron.call = bw_call_daemon;
        aeron.call_context = doorbell;
    }
    int32_t stream_id = (int32_t)bw_aeron_next_correlation_id(&aeron);
    if (stream_id == BW_HELLO_STREAM_ID) {
        stream_id = (int32_t)bw_aeron_next_correlation_id(&aeron);
    }
    status = bw_aeron_add_subscription(&aeron, &subscription, stream_id, attempt_ns, error);
    if (status == BW_OK) {
        status = bw_aeron_add_publication(&aeron, &publication, BW_HELLO_STREAM_ID, attempt_ns, error);
    }
    while (status == BW_OK) {
        status = bw_exchange_once(
                &aeron, &publication, &subscription, request, length, answer, attempt_ns, error);
        if (status != BW_OK || answer->kind != BW_REFUSED_TEMPLATE || refused->code != BW_REFUSAL_NOT_YET) {
            break;
        }
        (void)bw_fail(error, BW_ERROR_DEADLINE, "the daemon is not ready: %s", refused->text);
        const int64_t now_ns = bw_now_ns();
        int64_t pause_ns = refused->retry_after_millis > 0 ? (int64_t)refused->retry_after_millis * 1000000 : 0;
        pause_ns = pause_ns > INT64_C(500000000) ? INT64_C(500000000) : pause_ns;
        if (now_ns + pause_ns >= deadline_ns) {
            status = BW_ERROR_DEADLINE;
            break;
        }
        status = BW_OK;
        for (const int64_t until_ns = now_ns + pause_ns; status == BW_OK && bw_now_ns() < until_ns;) {
            const bw_status work = bw_aeron_work(&aeron, error);
            status = work == BW_AGAIN ? BW_OK : work;
            bw_sleep_ns(INT64_C(2000000));
        }
        attempt_ns = bw_now_ns() + BW_ATTEMPT_NS;
        attempt_ns = attempt_ns < deadline_ns ? attempt_ns : deadline_ns;
    }
    bw_aeron_log_close(&publication.log);
    bw_aeron_log_close(&subscription.log);
    bw_aeron_close(&aeron);
    if (doorbell != NULL) {
        (void)munmap(doorbell, BW_DOORBELL_LENGTH);
    }
    return status;
}

/** Says Hello until it is decided: `welcome`, or BW_ERROR_REFUSED and `refused`. */
static inline bw_status bw_exchange(bw_client *client, bw_hello *hello, bw_welcome *welcome, bw_refused *refused,
        int64_t deadline_ns, bw_error *error) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    bw_answer answer;
    const bw_status status = bw_exchange_message(
            client, message, bw_hello_encode(hello, message), &answer, deadline_ns, error);
    if (status != BW_OK) {
        return status;
    }
    if (answer.kind == BW_REFUSED_TEMPLATE) {
        *refused = answer.refused;
        return BW_ERROR_REFUSED;
    }
    if (answer.kind != BW_WELCOME_TEMPLATE) {
        return bw_fail(error, BW_ERROR_CORRUPT, "the daemon answered something else: template=%d", answer.kind);
    }
    *welcome = answer.welcome;
    return BW_OK;
}

/**
 * What attempts that came to nothing are called at last. Where a log does not fit, the driver refuses it, or the
 * daemon cannot answer and is silent: then the room is what to speak of, whatever was in the way last.
 */
static inline bw_status bw_exchange_failed(const bw_client *client, bw_status status, bw_error *error) {
    struct statvfs space;
    if ((status == BW_ERROR_STARVED || status == BW_ERROR_DRIVER || error->system_errno == ENOSPC) &&
            statvfs(client->directory, &space) == 0 && space.f_blocks != 0) { /* 0: a tmpfs without a limit */
        const unsigned long long available = (unsigned long long)space.f_bavail * space.f_frsize;
        if (available < BW_EXCHANGE_LENGTH) {
            status = bw_fail(error, BW_ERROR_SYSTEM,
                    "no space left: directory=%s availableBytes=%llu neededBytes=%d; make room there, or serve with"
                    " less --memory",
                    client->directory, available, BW_EXCHANGE_LENGTH);
            error->system_errno = ENOSPC;
        }
    }
    error->status = status == BW_ERROR_STARVED ? BW_ERROR_DEADLINE : status;
    return error->status;
}

#ifndef BW_EXCHANGE
/** Where tests put an exchange without a media driver. */
#define BW_EXCHANGE bw_exchange
#endif

/** The error that a final refusal is. */
static inline bw_status bw_refusal_error(const bw_refused *refused, bw_error *error) {
    const bw_status status = refused->code == BW_REFUSAL_SUPERSEDED ? BW_ERROR_SUPERSEDED
            : refused->code == BW_REFUSAL_RING_HELD                 ? BW_ERROR_RING_HELD
            : refused->code == BW_REFUSAL_ABI_MISMATCH              ? BW_ERROR_VERSION
                                                                    : BW_ERROR_REFUSED;
    (void)bw_fail(error, status, "the daemon refused: code=%s %.600s", bw_refusal_name(refused->code), refused->text);
    if (error != NULL) {
        error->refused_code = refused->code;
        error->step = refused->step;
        error->bytes = refused->bytes > 0 ? refused->bytes : 0;
    }
    return status;
}

/** One round: find the daemon, say Hello, map. BW_AGAIN: worth another one; `error` says what was wrong. */
static inline bw_status bw_attach_round(bw_client *client, bw_attachment *attachment, bw_welcome *welcome,
        int64_t deadline_ns, bw_error *error) {
    if (!bw_daemon_lives(client)) {
        (void)bw_fail(error, client->attachments == 0 ? BW_ERROR_NO_DAEMON : BW_ERROR_DAEMON_LOST,
                "no daemon serves this directory: directory=%s; start one with `batchweave serve`", client->directory);
        return BW_AGAIN;
    }
    bw_status status = bw_directory_check(client, error);
    if (status == BW_OK) {
        status = bw_daemon_check(client, error);
    }
    if (status != BW_OK) {
        return status;
    }
    if (attachment->reader == NULL) {
        status = bw_reader_open(client, attachment, client->current, error);
        if (status != BW_OK) {
            return status;
        }
    }
    bw_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.next_step = client->next_step;
    hello.abi = (int32_t)BW_ABI_VERSION;
    hello.dp = (int32_t)client->options.dp;
    hello.dp_size = (int32_t)client->options.dp_size;
    hello.cp = (int32_t)client->options.cp;
    hello.cp_size = (int32_t)client->options.cp_size;
    hello.local_readers = (int32_t)client->options.local_readers;
    hello.rank = client->options.rank;
    hello.pid = (int32_t)getpid();
    hello.takeover = client->options.refuse_if_live ? 1 : 0;
    hello.client = client->options.client_kind;
    hello.view_version = client->view_version;
    hello.stream = client->stream;
    hello.group = client->group;
    hello.session = client->session;
    hello.reader_file = attachment->reader_name;
    hello.previous_reader_file = client->current != NULL ? client->current->reader_name : "";
    hello.token = client->token;
    hello.token_length = client->options.token_length;
    bw_refused refused;
    status = BW_EXCHANGE(client, &hello, welcome, &refused, deadline_ns, error);
    switch (status) {
        case BW_OK: break;
        case BW_ERROR_REFUSED:
            (void)bw_refusal_error(&refused, error);
            return refused.code == BW_REFUSAL_CLOSING ? BW_AGAIN : error != NULL ? error->status : status;
        case BW_ERROR_STARVED:
        case BW_ERROR_NO_DAEMON:
        case BW_ERROR_DRIVER:
        case BW_ERROR_SYSTEM: /* the driver's files went with it */
            return bw_now_ns() < deadline_ns ? BW_AGAIN : status;
        default: return status;
    }
    if (welcome->abi != (int32_t)BW_ABI_VERSION) {
        return bw_fail(error, BW_ERROR_VERSION, "the daemon has another ABI: abi=%d expected=%u", welcome->abi,
                BW_ABI_VERSION);
    }
    if (welcome->first_step < 0 || welcome->first_index < 0 || welcome->grid_dp <= 0 || welcome->grid_cp <= 0 ||
            (uint32_t)welcome->grid_cp != client->options.cp_size ||
            (uint32_t)welcome->grid_dp % client->options.dp_size != 0) {
        return bw_fail(error, BW_ERROR_CORRUPT, "Welcome is out of range: firstStep=%lld firstIndex=%lld grid=%dx%d",
                (long long)welcome->first_step, (long long)welcome->first_index, welcome->grid_dp, welcome->grid_cp);
    }
    return bw_attachment_map(client, attachment, welcome, error);
}

/**
 * Says an encoded request that is no Hello until it is decided, by whatever daemon, until `deadline_ns`.
 * BW_OK: `answer` is of the kind wanted.
 */
static inline bw_status bw_ask(bw_client *client, uint8_t *request, size_t length, int wanted, bw_answer *answer,
        int64_t deadline_ns, bw_error *error) {
    bw_error quiet;
    error = error != NULL ? error : &quiet;
    for (;;) {
        bw_status status = BW_AGAIN;
        if (!bw_daemon_lives(client)) {
            (void)bw_fail(error, BW_ERROR_DAEMON_LOST,
                    "no daemon serves this directory: directory=%s; start one with `batchweave serve`",
                    client->directory);
        } else {
            status = bw_exchange_message(client, request, length, answer, deadline_ns, error);
            if (status == BW_OK && answer->kind == BW_REFUSED_TEMPLATE) {
                (void)bw_refusal_error(&answer->refused, error);
                status = answer->refused.code == BW_REFUSAL_CLOSING ? BW_AGAIN : error->status;
            } else if (status == BW_OK && answer->kind != wanted) {
                status = bw_fail(
                        error, BW_ERROR_CORRUPT, "the daemon answered something else: template=%d", answer->kind);
            } else if (status == BW_ERROR_STARVED || status == BW_ERROR_NO_DAEMON || status == BW_ERROR_DRIVER ||
                    status == BW_ERROR_SYSTEM) {
                status = BW_AGAIN; /* the driver's files went with it */
            }
        }
        if (status != BW_AGAIN) {
            return status;
        }
        if (bw_stopped(client)) {
            return bw_fail(error, BW_ERROR_INTERRUPTED, "stopped by the caller");
        }
        if (bw_now_ns() >= deadline_ns) {
            return bw_exchange_failed(client, (int)error->status < 0 ? error->status : BW_ERROR_DEADLINE, error);
        }
        bw_sleep_ns(INT64_C(10000000));
    }
}

static inline void bw_client_drop(bw_client *client);

/** Gives up one reference to an attachment. */
static inline void bw_attachment_drop(bw_attachment *attachment) {
    if (__atomic_sub_fetch(&attachment->references, 1u, __ATOMIC_ACQ_REL) == 0) {
        bw_client *client = attachment->client;
        bw_attachment_free(attachment);
        bw_client_drop(client);
    }
}

/** Gives up what an attachment replaces: their locks go, unless leases are in them. */
static inline void bw_replaced_drop(bw_attachment *attachment) {
    while (attachment->replaced != NULL) {
        bw_attachment *before = attachment->replaced;
        attachment->replaced = before->replaced;
        before->replaced = NULL;
        bw_attachment_drop(before);
    }
}

/** Attaches, or attaches again at `client->next_step`, waiting for a daemon until `deadline_ns`. */
static inline bw_status bw_attach_until(bw_client *client, int64_t deadline_ns, bw_error *error) {
    bw_error quiet;
    error = error != NULL ? error : &quiet;
    bw_attachment *attachment = (bw_attachment *)calloc(1, sizeof *attachment);
    if (attachment == NULL) {
        return bw_fail_errno(error, "calloc", "attachment", ENOMEM);
    }
    attachment->client = client;
    attachment->references = 1;
    bw_welcome welcome;
    memset(&welcome, 0, sizeof welcome);
    int rounds = 0;
    bw_status status;
    for (;; ++rounds) {
        if (bw_stopped(client)) {
            status = bw_fail(error, BW_ERROR_INTERRUPTED, "stopped by the caller");
            break;
        }
        status = bw_attach_round(client, attachment, &welcome, deadline_ns, error);
        if (status != BW_AGAIN) {
            break;
        }
        bw_attachment_unmap(attachment);
        if (bw_now_ns() >= deadline_ns) {
            status = (int)error->status < 0 ? error->status : BW_ERROR_DEADLINE;
            break;
        }
        bw_sleep_ns(INT64_C(10000000));
    }
    if (status != BW_OK) {
        status = bw_exchange_failed(client, status, error);
        bw_attachment_free(attachment);
        bw_error_append(error, " attempts=%d", rounds + 1);
        return status;
    }
    bw_attachment *previous = client->current;
    (void)__atomic_add_fetch(&client->references, 1u, __ATOMIC_RELAXED);
    bw_lock(&client->lock);
    __atomic_store_n(&client->current, attachment, __ATOMIC_RELEASE);
    bw_unlock(&client->lock);
    client->detached = false;
    client->next_step = welcome.first_step;
    memcpy(client->stream_id, welcome.stream_id, sizeof client->stream_id);
    client->view_version = welcome.view_version;
    client->grid_dp = (uint32_t)welcome.grid_dp;
    client->grid_cp = (uint32_t)welcome.grid_cp;
    ++client->attachments;
    if (previous != NULL) {
        client->copied = client->copied || bw_was_copied(previous);
        (void)munmap((void *)(uintptr_t)previous->control, previous->control_length);
        previous->control = NULL; /* releases need the reader file only */
    }
    attachment->replaced = previous;
    bw_fence_full(); /* SYNC POINT: taken-or-closed */
    if (BW_STATE_OF(bw_load_acquire_u32(&attachment->control->state)) == BW_STATE_OPEN) {
        bw_replaced_drop(attachment);
    } /* else the daemon that closed it may know this rank by the files before alone */
    bw_error_clear(error);
    return BW_OK;
}

#endif
