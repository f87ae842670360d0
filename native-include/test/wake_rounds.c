/*
 * One half of a ping-pong over two doorbells: waits for the first, rings the second, without ever looking
 * again by itself. A wake-up that gets lost ends it. Arguments: the directories of the two doorbells, rounds,
 * spins before each wait.
 */
#include "check.h"

#include "../batchweave.h"

static bw_doorbell *open_doorbell(const char *directory) {
    char path[BW_PATH_CAPACITY];
    CHECK(bw_path_join(path, sizeof path, directory, BW_DOORBELL_NAME));
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    CHECK(descriptor >= 0);
    void *base = mmap(NULL, BW_DOORBELL_LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    CHECK(base != MAP_FAILED && close(descriptor) == 0);
    return (bw_doorbell *)base;
}

int main(int count, char **arguments) {
    CHECK(count == 5);
    bw_doorbell *ping = open_doorbell(arguments[1]);
    bw_doorbell *pong = open_doorbell(arguments[2]);
    const uint32_t rounds = (uint32_t)strtoul(arguments[3], NULL, 10);
    const int spins = atoi(arguments[4]);
    for (uint32_t round = 1; round <= rounds; ++round) {
        for (int spin = 0; spin < spins && bw_load_acquire_u32(&ping->word) < round; ++spin) {
            bw_pause();
        }
        for (uint32_t word = bw_load_acquire_u32(&ping->word); word < round;
                word = bw_load_acquire_u32(&ping->word)) {
            const int64_t before_ns = bw_now_ns();
            bw_futex_wait(&ping->word, word, 20 * BW_SECOND_NS);
            CHECK(bw_now_ns() - before_ns < 19 * BW_SECOND_NS);
        }
        bw_ring_doorbell(pong);
    }
    CHECK(munmap(ping, BW_DOORBELL_LENGTH) == 0 && munmap(pong, BW_DOORBELL_LENGTH) == 0);
    return 0;
}
