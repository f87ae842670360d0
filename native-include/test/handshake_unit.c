/*
 * The messages of the handshake. With a directory as argument: every way an answer can be malformed. With
 * `hello`: prints one Hello in hexadecimal. With `answer HEX`: prints what the answer says.
 */
#include "check.h"

#include "../batchweave_handshake.h"

static bw_answer answer;

/** Kind of an answer, 0 for one that is malformed. */
static int decode(const uint8_t *message, size_t length) {
    return bw_answer_decode(message, length, &answer) ? answer.kind : 0;
}

static size_t sound_welcome(uint8_t *message) {
    memset(message, 0, BW_MESSAGE_CAPACITY);
    bw_message_u16(message, BW_WELCOME_BLOCK);
    bw_message_u16(message + 2, BW_WELCOME_TEMPLATE);
    bw_message_u16(message + 4, BW_SCHEMA_ID);
    bw_message_u16(message + 6, BW_SCHEMA_VERSION);
    size_t position = BW_MESSAGE_HEADER + BW_WELCOME_BLOCK;
    CHECK(bw_message_data(message, &position, "ring-0.1.ctl", 12, 64));
    CHECK(bw_message_data(message, &position, "ring-0.data", 11, 64));
    return position;
}

static size_t sound_refused(uint8_t *message) {
    memset(message, 0, BW_MESSAGE_CAPACITY);
    bw_message_u16(message, BW_REFUSED_BLOCK);
    bw_message_u16(message + 2, BW_REFUSED_TEMPLATE);
    bw_message_u16(message + 4, BW_SCHEMA_ID);
    bw_message_u16(message + 6, BW_SCHEMA_VERSION);
    size_t position = BW_MESSAGE_HEADER + BW_REFUSED_BLOCK;
    CHECK(bw_message_data(message, &position, "because", 7, 1024));
    return position;
}

static void should_refuse_answers_that_end_early_or_lie(void) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    size_t length = sound_welcome(message);
    CHECK_EQUAL(BW_WELCOME_TEMPLATE, decode(message, length));
    CHECK(strcmp(answer.welcome.control_file, "ring-0.1.ctl") == 0 && strcmp(answer.welcome.data_file, "ring-0.data") == 0);
    for (size_t i = 0; i < length; ++i) {
        CHECK_EQUAL(0, decode(message, i));
    }
    message[0] = BW_WELCOME_BLOCK - 1; /* fixed fields beyond the block */
    CHECK_EQUAL(0, decode(message, length));
    bw_message_u16(message, 65535);
    CHECK_EQUAL(0, decode(message, length));
    (void)sound_welcome(message);
    bw_message_u16(message + 4, 7); /* another schema */
    CHECK_EQUAL(0, decode(message, length));
    (void)sound_welcome(message);
    bw_message_u16(message + 2, 9); /* another message */
    CHECK_EQUAL(0, decode(message, length));
    (void)sound_welcome(message);
    bw_message_u16(message + BW_MESSAGE_HEADER + BW_WELCOME_BLOCK, 65); /* longer than a file name may be */
    CHECK_EQUAL(0, decode(message, BW_MESSAGE_CAPACITY));
    (void)sound_welcome(message);
    message[BW_MESSAGE_HEADER + BW_WELCOME_BLOCK + 4] = 0; /* a zero inside of a name */
    CHECK_EQUAL(0, decode(message, length));
    length = sound_refused(message);
    CHECK_EQUAL(BW_REFUSED_TEMPLATE, decode(message, length));
    CHECK(strcmp(answer.refused.text, "because") == 0);
    for (size_t i = 0; i < length; ++i) {
        CHECK_EQUAL(0, decode(message, i));
    }
}

static void should_read_longer_blocks_of_later_versions(void) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    uint8_t later[BW_MESSAGE_CAPACITY];
    const size_t length = sound_refused(message);
    const size_t begin = BW_MESSAGE_HEADER + BW_REFUSED_BLOCK;
    memcpy(later, message, begin);
    memset(later + begin, 0xFF, 16);
    memcpy(later + begin + 16, message + begin, length - begin);
    bw_message_u16(later, BW_REFUSED_BLOCK + 16);
    bw_message_u16(later + 6, BW_SCHEMA_VERSION + 1);
    CHECK_EQUAL(BW_REFUSED_TEMPLATE, decode(later, length + 16));
    CHECK(strcmp(answer.refused.text, "because") == 0);
}

/** An answer that has fixed fields only. */
static size_t sound_fixed(uint8_t *message, uint16_t block, uint16_t template_id) {
    memset(message, 0, BW_MESSAGE_CAPACITY);
    bw_message_u16(message, block);
    bw_message_u16(message + 2, template_id);
    bw_message_u16(message + 4, BW_SCHEMA_ID);
    bw_message_u16(message + 6, BW_SCHEMA_VERSION);
    return (size_t)BW_MESSAGE_HEADER + block;
}

static size_t sound_answer(int which, uint8_t *message) {
    switch (which) {
        case 0: return sound_welcome(message);
        case 1: return sound_refused(message);
        case 2: return sound_fixed(message, BW_REGISTERED_BLOCK, BW_REGISTERED_TEMPLATE);
        default: return sound_fixed(message, BW_STATUS_BLOCK, BW_STATUS_TEMPLATE);
    }
}

static void should_survive_random_answers(void) {
    unsigned seed = 99;
    for (int which = 0; which < 4; ++which) {
        uint8_t message[BW_MESSAGE_CAPACITY];
        CHECK(decode(message, sound_answer(which, message)) != 0);
    }
    for (int round = 0; round < 200000; ++round) {
        uint8_t message[BW_MESSAGE_CAPACITY];
        size_t length = sound_answer(round % 4, message);
        for (int i = 0; i < 3; ++i) {
            seed = seed * 1103515245u + 12345u;
            message[(seed >> 8) % length] = (uint8_t)(seed >> 16);
        }
        seed = seed * 1103515245u + 12345u;
        if (seed >> 30 == 0) {
            length = (seed >> 8) % length;
        }
        uint8_t *exact = (uint8_t *)malloc(length > 0 ? length : 1); /* so that a byte too far is seen */
        CHECK(exact != NULL);
        memcpy(exact, message, length);
        const int kind = decode(exact, length);
        free(exact);
        CHECK(kind == 0 || (kind >= BW_WELCOME_TEMPLATE && kind <= BW_STATUS_TEMPLATE));
    }
}

static bw_hello sound_hello(void) {
    bw_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.attempt = INT64_C(0x0102030405060708);
    hello.next_step = -1;
    hello.welcome_stream_id = 77;
    hello.abi = 1;
    hello.dp = 3;
    hello.dp_size = 8;
    hello.cp = 1;
    hello.cp_size = 2;
    hello.local_readers = 4;
    hello.rank = 7;
    hello.pid = 4711;
    hello.takeover = 1;
    hello.client = 1;
    hello.view_version = 99;
    hello.stream = "s3://bucket/corpus";
    hello.group = "group-1";
    hello.session = "session-1";
    hello.reader_file = "00.reader";
    hello.previous_reader_file = "";
    hello.token = (const uint8_t *)"\x01\x02\x03";
    hello.token_length = 3;
    return hello;
}

static void should_refuse_to_encode_what_does_not_fit(void) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    static char text[1100];
    bw_hello hello = sound_hello();
    CHECK(bw_hello_encode(&hello, message) > 0);
    memset(text, 'a', 513);
    hello.stream = text;
    CHECK_EQUAL(0, bw_hello_encode(&hello, message));
    text[512] = '\0';
    hello.token = (const uint8_t *)text;
    hello.token_length = 256;
    CHECK(bw_hello_encode(&hello, message) > 0);
    hello.token_length = 257;
    CHECK_EQUAL(0, bw_hello_encode(&hello, message));
    hello = sound_hello();
    hello.group = text;
    CHECK_EQUAL(0, bw_hello_encode(&hello, message));
}

static void print_message(const uint8_t *message, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        (void)printf("%02x", message[i]);
    }
    (void)printf("\n");
}

static void print_answer(const char *hexadecimal) {
    uint8_t message[BW_MESSAGE_CAPACITY];
    const size_t length = strlen(hexadecimal) / 2;
    CHECK(length <= sizeof message);
    for (size_t i = 0; i < length; ++i) {
        unsigned byte = 0;
        CHECK(sscanf(hexadecimal + 2 * i, "%2x", &byte) == 1);
        message[i] = (uint8_t)byte;
    }
    const int kind = decode(message, length);
    if (kind == BW_WELCOME_TEMPLATE) {
        (void)printf("welcome %lld %lld %lld %lld %lld %lld %lld %lld %lld %lld %d %d %d %d %d %d %d %s %s\n",
                (long long)answer.welcome.attempt, (long long)answer.welcome.generation_id[0], (long long)answer.welcome.generation_id[1],
                (long long)answer.welcome.first_step, (long long)answer.welcome.first_index, (long long)answer.welcome.control_size_bytes,
                (long long)answer.welcome.data_size_bytes, (long long)answer.welcome.stream_id[0], (long long)answer.welcome.stream_id[1],
                (long long)answer.welcome.view_version, answer.welcome.abi, answer.welcome.ring, answer.welcome.slots, answer.welcome.page_size_bytes,
                answer.welcome.hold, answer.welcome.grid_dp, answer.welcome.grid_cp, answer.welcome.control_file, answer.welcome.data_file);
    } else if (kind == BW_REFUSED_TEMPLATE) {
        (void)printf("refused %lld %lld %lld %d %s %s\n", (long long)answer.refused.attempt, (long long)answer.refused.step,
                (long long)answer.refused.bytes, answer.refused.retry_after_millis, bw_refusal_name(answer.refused.code), answer.refused.text);
    } else if (kind == BW_REGISTERED_TEMPLATE) {
        (void)printf("registered %lld %lld\n", (long long)answer.attempt, (long long)answer.version);
    } else if (kind == BW_STATUS_TEMPLATE) {
        (void)printf("status %lld %lld %lld %lld %lld %d\n", (long long)answer.attempt,
                (long long)answer.status.next_step, (long long)answer.status.horizon,
                (long long)answer.status.start_step, (long long)answer.status.session_steps,
                (int)answer.status.sealed);
    } else {
        (void)printf("malformed\n");
    }
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    if (strcmp(arguments[1], "hello") == 0) {
        uint8_t message[BW_MESSAGE_CAPACITY];
        const bw_hello hello = sound_hello();
        print_message(message, bw_hello_encode(&hello, message));
    } else if (strcmp(arguments[1], "checkpoint") == 0) {
        uint8_t message[BW_MESSAGE_CAPACITY];
        const bw_checkpoint checkpoint = {41, 1, 99, 3, "s3://bucket/corpus", "group-1", "session-1", "step-41"};
        const size_t length = bw_checkpoint_encode(&checkpoint, message);
        bw_request_address(message, 7, 8);
        print_message(message, length);
    } else if (strcmp(arguments[1], "question") == 0) {
        uint8_t message[BW_MESSAGE_CAPACITY];
        const bw_question question = {99, 1, "s3://bucket/corpus", "group-1", "session-1"};
        const size_t length = bw_question_encode(&question, message);
        bw_request_address(message, 7, 8);
        print_message(message, length);
    } else if (strcmp(arguments[1], "answer") == 0) {
        CHECK(count == 3);
        print_answer(arguments[2]);
    } else {
        should_refuse_answers_that_end_early_or_lie();
        should_read_longer_blocks_of_later_versions();
        should_survive_random_answers();
        should_refuse_to_encode_what_does_not_fit();
    }
    return 0;
}
