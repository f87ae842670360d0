/*
 * The ring in this process: mapped once per ring file, copy-on-write unless asked otherwise, and cleaned
 * at release so that no later step can be seen through pages that were edited.
 *
 * A private writable mapping of a read-only descriptor costs nothing until a page is written; then that
 * page is a copy. /proc/self/pagemap tells which: (bit 63 present or bit 62 swapped or under migration)
 * and not bit 61 (of a file). Those are dropped by MADV_DONTNEED, after which the file shows again: at release,
 * and at take where something copied pages of a region that was not held.
 */
#ifndef BATCHWEAVE_VIEWS_H
#define BATCHWEAVE_VIEWS_H

#include "batchweave_base.h"

#include "batchweave_types.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** What the kernel maps by one entry where a file has huge pages, if the address is a multiple of it. */
#define BW_HUGE_PAGE ((size_t)2 << 20)

/* A lock for rare and short things; never on the way of a step. */

static inline void bw_lock(uint32_t *word) {
    while (__atomic_exchange_n(word, 1u, __ATOMIC_ACQUIRE) != 0u) {
        (void)sched_yield();
    }
}

static inline void bw_unlock(uint32_t *word) {
    __atomic_store_n(word, 0u, __ATOMIC_RELEASE);
}

/** Whether a pagemap entry is of a page that belongs to this process alone. */
static inline bool bw_page_is_private(uint64_t entry) {
    return (entry >> 62) != 0u && (entry & (UINT64_C(1) << 61)) == 0u;
}

/** Reads `count` pagemap entries from `address` on; false when the kernel does not tell. */
static inline bool bw_pagemap_read(
        int pagemap, const uint8_t *address, size_t page_size, uint64_t *entries, size_t count) {
    const size_t wanted = count * sizeof *entries;
    const off_t offset = (off_t)((uintptr_t)address / page_size * sizeof *entries);
    size_t done = 0;
    while (done < wanted) {
        const ssize_t got = pread(pagemap, (uint8_t *)entries + done, wanted - done, offset + (off_t)done);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static inline bool bw_pages_drop(uint8_t *address, size_t length) {
    int result;
    do {
        result = madvise(address, length, MADV_DONTNEED);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/** The error of pages that stay: locked ones cannot be dropped, nor is the ring seen through their copies. */
static inline bw_status bw_pages_stay(bw_error *error) {
    return bw_fail(error, BW_ERROR_DIRTY, "cannot drop private pages of a view: madvise errno=%d%s", errno,
            errno == EINVAL ? ": memory was locked (mlock) after attaching; unlock it and try again, lock before attaching, or"
                              " use views=copy"
                            : "; try again");
}

/** The error of a pagemap that cannot be read. */
static inline bw_status bw_pages_unknown(bw_error *error) {
    return bw_fail(error, BW_ERROR_DIRTY,
            "cannot tell which pages of a view are private: /proc/self/pagemap errno=%d; try again or use views=copy", errno);
}

/**
 * Drops every private page of [address, address + length), both multiples of the host's page size. Above
 * one eighth the whole range is dropped at once.
 */
static inline bw_status bw_views_clean(int pagemap, uint8_t *address, size_t length, bw_error *error) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = length / page_size;
    uint64_t entries[512];
    size_t dirty = 0;
    for (size_t first = 0; first < pages;) {
        const size_t count = pages - first < 512 ? pages - first : 512;
        if (!bw_pagemap_read(pagemap, address + first * page_size, page_size, entries, count)) {
            return bw_pages_unknown(error);
        }
        for (size_t i = 0; i < count;) {
            size_t end = i;
            while (end < count && bw_page_is_private(entries[end])) {
                ++end;
            }
            dirty += end - i;
            if (dirty > pages / 8) {
                return bw_pages_drop(address, length)
                        ? BW_OK
                        : bw_pages_stay(error);
            }
            if (end > i && !bw_pages_drop(address + (first + i) * page_size, (end - i) * page_size)) {
                return bw_pages_stay(error);
            }
            i = end > i ? end : i + 1;
        }
        first += count;
    }
    return BW_OK;
}

/** Why copy-on-write views do not work here, or null. `base` is a private mapping of a ring, still untouched. */
static inline const char *bw_views_obstacle(int pagemap, uint8_t *base, size_t length) {
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t entry = 0;
    if (pagemap < 0) {
        return "/proc/self/pagemap cannot be opened";
    }
    volatile uint8_t *probe = base;
    const uint8_t value = *probe;
    if (!bw_pagemap_read(pagemap, base, page_size, &entry, 1) || (entry >> 61) == 0u) {
        return "/proc/self/pagemap does not tell about this mapping";
    }
    if (bw_page_is_private(entry)) {
        return "a page that was only read is a copy already (mlockall?)";
    }
    *probe = value;
    if (!bw_pagemap_read(pagemap, base, page_size, &entry, 1) || !bw_page_is_private(entry)) {
        return "an edited page does not show in /proc/self/pagemap";
    }
    /* With its neighbours, which nobody has touched yet: an empty table can give way to a huge page. */
    if (!bw_pages_drop(base, length < BW_HUGE_PAGE ? length : BW_HUGE_PAGE)) {
        return "an edited page cannot be dropped (locked memory?)";
    }
    (void)*probe;
    if (!bw_pagemap_read(pagemap, base, page_size, &entry, 1) || bw_page_is_private(entry)) {
        return "an edited page stays after MADV_DONTNEED";
    }
    return NULL;
}

static inline void bw_notice(const bw_client *client, const char *format, const char *detail) {
    if (client->options.notice != NULL) {
        char line[512];
        (void)snprintf(line, sizeof line, format, detail);
        client->options.notice(client->options.context, line);
    }
}

/**
 * An address at which a mapping of `length` bytes may be put in place of the reservation that is there;
 * null where none is needed or none can be had.
 */
static inline uint8_t *bw_huge_reserve(size_t length) {
    if (length < BW_HUGE_PAGE || length > SIZE_MAX - BW_HUGE_PAGE) {
        return NULL;
    }
    const size_t reserved = length + BW_HUGE_PAGE;
    uint8_t *base = (uint8_t *)mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    const size_t before = (BW_HUGE_PAGE - (uintptr_t)base % BW_HUGE_PAGE) % BW_HUGE_PAGE;
    if (before > 0) {
        (void)munmap(base, before);
    }
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const size_t kept = before + (length + page_size - 1) / page_size * page_size;
    if (kept < reserved) {
        (void)munmap(base + kept, reserved - kept);
    }
    return base + before;
}

/** Maps `descriptor` as `views` say; null when the system does not want to. */
static inline uint8_t *bw_ring_map(int descriptor, size_t length, bw_views views) {
    const int protection = views == BW_VIEWS_PRIVATE || views == BW_VIEWS_SHARED_WRITABLE
            ? PROT_READ | PROT_WRITE
            : PROT_READ;
    const int sharing = views == BW_VIEWS_PRIVATE ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED;
    uint8_t *place = bw_huge_reserve(length);
    void *base = mmap(place, length, protection, sharing | (place != NULL ? MAP_FIXED : 0), descriptor, 0);
    if (base == MAP_FAILED) {
        if (place != NULL) {
            const int number = errno;
            (void)munmap(place, length);
            errno = number;
        }
        return NULL;
    }
    if (madvise(base, length, MADV_DONTFORK) != 0) {
        const int number = errno;
        (void)munmap(base, length);
        errno = number;
        return NULL;
    }
    return (uint8_t *)base;
}

/** Gives up one reference; the last one unmaps. */
static inline void bw_mapping_drop(bw_client *client, bw_mapping *mapping) {
    bw_lock(&client->lock);
    const bool last = --mapping->references == 0;
    if (last) {
        bw_mapping **link = &client->mappings;
        while (*link != mapping) {
            link = &(*link)->next;
        }
        *link = mapping->next;
    }
    bw_unlock(&client->lock);
    if (last) {
        const bw_options *options = &client->options;
        if (!mapping->agreed || options->unmapping == NULL || options->unmapping(options->context, mapping->base, mapping->length)) {
            (void)munmap(mapping->base, mapping->length);
        }
        free(mapping);
    }
}

/** Why the client's views cannot be had of this mapping, or null; `base` is null where mmap failed. */
static inline const char *bw_mapping_obstacle(bw_client *client, bw_mapping *mapping) {
    const bw_options *options = &client->options;
    if (client->views == BW_VIEWS_PRIVATE) {
        return mapping->base == NULL ? "no private mapping (commit limit?)"
                                     : bw_views_obstacle(client->pagemap, mapping->base, mapping->length);
    }
    if (mapping->base != NULL && client->views == BW_VIEWS_SHARED_WRITABLE && options->mapped != NULL) {
        mapping->agreed = options->mapped(options->context, mapping->base, mapping->length);
        return mapping->agreed ? NULL : "the caller refused the mapping of the ring";
    }
    return NULL;
}

/** Maps as the client's views say; where that cannot be had, as the next ones: private, then copies. */
static inline bw_status bw_mapping_make(bw_client *client, int descriptor, bw_mapping *mapping, bw_error *error) {
    for (;;) {
        mapping->base = bw_ring_map(descriptor, mapping->length, client->views);
        const int number = errno;
        const char *obstacle = bw_mapping_obstacle(client, mapping);
        if (obstacle == NULL) {
            mapping->views = client->views;
            return mapping->base != NULL ? BW_OK : bw_fail_errno(error, "mmap", "the ring's data file", number);
        }
        if (mapping->base != NULL) {
            (void)munmap(mapping->base, mapping->length);
        }
        if (client->views == BW_VIEWS_PRIVATE) {
            bw_notice(client, "batchweave: views=copy, because %s", obstacle);
            client->views = BW_VIEWS_COPY;
        } else if (client->options.views_required) {
            return bw_fail(error, BW_ERROR_ARGUMENT, "%s", obstacle);
        } else {
            client->views = BW_VIEWS_PRIVATE;
            if (client->pagemap < 0) {
                client->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
            }
        }
    }
}

/** The mapping of an open data file: the one there is, or a new one. */
static inline bw_status bw_mapping_of(
        bw_client *client, int descriptor, const struct stat *status, bw_mapping **found, bw_error *error) {
    bw_lock(&client->lock);
    for (bw_mapping *mapping = client->mappings; mapping != NULL; mapping = mapping->next) {
        if (mapping->inode == (uint64_t)status->st_ino && mapping->device == (uint64_t)status->st_dev &&
                mapping->length == (size_t)status->st_size) {
            ++mapping->references;
            bw_unlock(&client->lock);
            *found = mapping;
            return BW_OK;
        }
    }
    bw_unlock(&client->lock);
    bw_mapping *mapping = (bw_mapping *)calloc(1, sizeof *mapping);
    if (mapping == NULL) {
        return bw_fail_errno(error, "calloc", "mapping", ENOMEM);
    }
    mapping->length = (size_t)status->st_size;
    mapping->inode = (uint64_t)status->st_ino;
    mapping->device = (uint64_t)status->st_dev;
    mapping->references = 1;
    const bw_status made = bw_mapping_make(client, descriptor, mapping, error);
    if (made != BW_OK) {
        free(mapping);
        return made;
    }
    bw_lock(&client->lock);
    mapping->next = client->mappings;
    client->mappings = mapping;
    bw_unlock(&client->lock);
    *found = mapping;
    return BW_OK;
}

#endif
