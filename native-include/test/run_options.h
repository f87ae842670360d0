/*
 * The options of a rank of the launch that the daemon's tests serve: group `train`, session `run-0`.
 */
#ifndef BATCHWEAVE_TEST_RUN_OPTIONS_H
#define BATCHWEAVE_TEST_RUN_OPTIONS_H

#include "../batchweave.h"

static inline bw_options run_options(const char *directory, const char *stream) {
    bw_options options;
    bw_options_init(&options);
    options.directory = directory;
    options.stream = stream;
    options.group = "train";
    options.session = "run-0";
    return options;
}

#endif
