/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tune.h"

void tune_pool_init(tune_pool *p, const tune_setup *setup)
{
    *p = (tune_pool){.n = setup->processes};
    for (int i = 0; i < p->n; i++) p->at[i] = tune_worker_create(setup);
}

void tune_pool_deinit(tune_pool *p)
{
    for (int i = 0; i < p->n; i++) tune_worker_destroy(p->at[i]);
}

gpuc_status tune_pool_measure(tune_pool *p, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results)
{
    for (int i = 0; i < n; i++) GPUC_TRY(tune_worker_start(p->at[i])); /* which measures the machine */
    for (int i = 0; i < n; i++) tune_worker_prepare(p->at[i], ++p->trials, &asks[i]);
    for (int i = 0; i < n; i++) GPUC_TRY(tune_worker_finish(p->at[i], &results[i]));
    for (int i = 0; i < n; i++) {
        if (strcmp(results[i].status, GPUC_TUNE_OK)) continue;
        tune_worker_measure(p->at[i]);
        GPUC_TRY(tune_worker_finish(p->at[i], &results[i]));
    }
    return NULL;
}
