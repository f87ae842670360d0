/*
 * CRC-32C (Castagnoli), as in the tables of regions: with the processor's instruction where it has one.
 */
#ifndef BATCHWEAVE_CRC32C_H
#define BATCHWEAVE_CRC32C_H

#include "batchweave_base.h"

#if defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

/** Sixteen steps at a time by table: small, and only where there is no instruction. */
static inline uint32_t bw_crc32c_software(uint32_t crc, const uint8_t *bytes, size_t length) {
    /* crc of the 16 values of the low half of a byte */
    static const uint32_t table[16] = {
        UINT32_C(0x00000000), UINT32_C(0x105EC76F), UINT32_C(0x20BD8EDE), UINT32_C(0x30E349B1),
        UINT32_C(0x417B1DBC), UINT32_C(0x5125DAD3), UINT32_C(0x61C69362), UINT32_C(0x7198540D),
        UINT32_C(0x82F63B78), UINT32_C(0x92A8FC17), UINT32_C(0xA24BB5A6), UINT32_C(0xB21572C9),
        UINT32_C(0xC38D26C4), UINT32_C(0xD3D3E1AB), UINT32_C(0xE330A81A), UINT32_C(0xF36E6F75)};
    for (size_t i = 0; i < length; ++i) {
        crc ^= bytes[i];
        crc = table[crc & 15u] ^ (crc >> 4);
        crc = table[crc & 15u] ^ (crc >> 4);
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static inline uint32_t bw_crc32c_sse42(
        uint32_t crc, const uint8_t *bytes, size_t length) {
    uint64_t wide = crc;
    for (; length >= 8; bytes += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; length > 0; ++bytes, --length) {
        crc = __builtin_ia32_crc32qi(crc, *bytes);
    }
    return crc;
}
#endif

/** CRC-32C of `length` bytes; continue by passing the result as `crc`, start with 0. */
static inline uint32_t bw_crc32c(uint32_t crc, const void *data, size_t length) {
    const uint8_t *bytes = (const uint8_t *)data;
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        return ~bw_crc32c_sse42(crc, bytes, length);
    }
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
    for (; length >= 8; bytes += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        crc = __crc32cd(crc, word);
    }
#endif
    return ~bw_crc32c_software(crc, bytes, length);
}

#endif
