/* The OpenMP contender: schedule(static) over libgomp's team, which spins between regions.
 *
 * A Rust body is called through a pointer once per thread with that thread's share, the split
 * schedule(static) makes; saxpy and sum are written here, as a C programmer would. */

#include <omp.h>
#include <stddef.h>
#include <stdint.h>

void peers_openmp_range(size_t len, void (*body)(const void *, size_t, size_t), const void *ctx) {
#pragma omp parallel
    {
        size_t threads = (size_t)omp_get_num_threads();
        size_t thread = (size_t)omp_get_thread_num();
        size_t share = len / threads;
        size_t rest = len % threads;
        size_t low = thread * share + (thread < rest ? thread : rest);
        size_t high = low + share + (thread < rest ? 1 : 0);
        if (low < high) {
            body(ctx, low, high);
        }
    }
}

void peers_openmp_saxpy(size_t len, float scale, const float *restrict x, float *restrict y) {
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < len; i++) {
        y[i] = scale * x[i] + y[i];
    }
}

uint64_t peers_openmp_sum(size_t len, const uint64_t *values) {
    uint64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (size_t i = 0; i < len; i++) {
        total += values[i];
    }
    return total;
}
