/* SPDX-License-Identifier: Apache-2.0 */
/* Has worker processes measure configurations, in turns. */
#include <string.h>

#include "tune/tune.h"

void tune_pool_init(tune_pool *p, const tune_setup *setup)
{
    *p = (tune_pool){.n = setup->processes, .rounds = setup->rounds};
    for (int i = 0; i < p->n; i++) p->at[i] = tune_worker_create(setup);
}

void tune_pool_deinit(tune_pool *p)
{
    for (int i = 0; i < p->n; i++) tune_worker_destroy(p->at[i]);
}

/* Adds to what was measured. */
static gpuc_status measure_more(tune_worker *w, gpuc_tune_result *out)
{
    gpuc_tune_result more;
    tune_worker_measure(w);
    GPUC_TRY(tune_worker_finish(w, &more));
    if (strcmp(more.status, GPUC_TUNE_OK)) *out = more;
    for (int i = 0; i < more.num_costs && out->num_costs < GPUC_TUNE_MAX_COSTS; i++)
        out->costs[out->num_costs++] = more.costs[i];
    return NULL;
}

gpuc_status tune_pool_measure(tune_pool *p, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results)
{
    for (int i = 0; i < n; i++) GPUC_TRY(tune_worker_start(p->at[i])); /* which measures the machine */
    for (int i = 0; i < n; i++) tune_worker_prepare(p->at[i], ++p->trials, &asks[i]);
    for (int i = 0; i < n; i++) GPUC_TRY(tune_worker_finish(p->at[i], &results[i]));
    for (int round = 0; round < p->rounds; round++)
        for (int i = 0; i < n; i++)
            if (!strcmp(results[i].status, GPUC_TUNE_OK)) GPUC_TRY(measure_more(p->at[i], &results[i]));
    return NULL;
}
