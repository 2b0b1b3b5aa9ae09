/* SPDX-License-Identifier: Apache-2.0 */
/* XGBoost's C interface, opened when tuning begins: nothing else of gpuc should need a C++ library. */
#include "tune/model.h"

#ifdef GPUC_TUNE_XGBOOST

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xgboost/c_api.h>

enum { ROUNDS = 48 };

#define EACH_FUNCTION(X)                                                                                     \
    X(XGBGetLastError)                                                                                       \
    X(XGDMatrixCreateFromMat)                                                                                \
    X(XGDMatrixFree)                                                                                         \
    X(XGDMatrixSetFloatInfo)                                                                                 \
    X(XGDMatrixSetUIntInfo)                                                                                  \
    X(XGBoosterCreate)                                                                                       \
    X(XGBoosterFree)                                                                                         \
    X(XGBoosterSetParam)                                                                                     \
    X(XGBoosterUpdateOneIter)                                                                                \
    X(XGBoosterPredict)

struct gpuc_tune_model {
    void *library;
#define DECLARE(name) __typeof__(name) *name;
    EACH_FUNCTION(DECLARE)
#undef DECLARE
    BoosterHandle booster; /* NULL: not trained */
    char seed[16];
};

static gpuc_status check(const gpuc_tune_model *m, int code)
{
    return code ? gpuc_fail(GPUC_INTERNAL, "XGBoost: %s", m->XGBGetLastError()) : NULL;
}

static gpuc_status open_library(gpuc_tune_model *m)
{
    static const char *const names[] = {"libxgboost.so.0", "libxgboost.so"};
    for (size_t i = 0; i < 2 && !m->library; i++) m->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!m->library) return gpuc_fail(GPUC_UNSUPPORTED, "XGBoost is not there: %s", dlerror());
    bool complete = true;
#define FIND(name) complete &= (*(void **)&m->name = dlsym(m->library, #name)) != NULL;
    EACH_FUNCTION(FIND)
#undef FIND
    return complete ? NULL : gpuc_fail(GPUC_UNSUPPORTED, "XGBoost lacks a function of its C interface");
}

gpuc_status gpuc_tune_model_create(uint32_t seed, gpuc_tune_model **out)
{
    *out = NULL;
    gpuc_tune_model *m = calloc(1, sizeof *m);
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a cost model");
    snprintf(m->seed, sizeof m->seed, "%u", seed & 0x7fffffff);
    gpuc_status status = open_library(m);
    if (status)
        gpuc_tune_model_destroy(m);
    else
        *out = m;
    return status;
}

static void forget(gpuc_tune_model *m)
{
    if (m->booster) m->XGBoosterFree(m->booster);
    m->booster = NULL;
}

void gpuc_tune_model_destroy(gpuc_tune_model *m)
{
    if (!m) return;
    forget(m);
    /* The library stays: its runtime of threads does not survive being closed. */
    free(m);
}

static gpuc_status make_matrix(gpuc_tune_model *m, const gpuc_tune_rows *rows, DMatrixHandle *out)
{
    return check(m, m->XGDMatrixCreateFromMat(rows->at, (bst_ulong)rows->n, (bst_ulong)rows->num_features,
                                              __builtin_nanf(""), out));
}

static gpuc_status learn(gpuc_tune_model *m, DMatrixHandle data, const float *labels, int n, int num_groups,
                         const unsigned *group_sizes)
{
    const char *const params[][2] = {
        {"objective", "rank:pairwise"}, {"max_depth", "5"}, {"eta", "0.2"},     {"min_child_weight", "0.5"},
        {"subsample", "0.9"},           {"nthread", "1"},   {"verbosity", "0"}, {"seed", m->seed},
        {"tree_method", "exact"},
    };
    GPUC_TRY(check(m, m->XGDMatrixSetFloatInfo(data, "label", labels, (bst_ulong)n)));
    GPUC_TRY(check(m, m->XGDMatrixSetUIntInfo(data, "group", group_sizes, (bst_ulong)num_groups)));
    forget(m);
    GPUC_TRY(check(m, m->XGBoosterCreate(&data, 1, &m->booster)));
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        GPUC_TRY(check(m, m->XGBoosterSetParam(m->booster, params[i][0], params[i][1])));
    for (int i = 0; i < ROUNDS; i++) GPUC_TRY(check(m, m->XGBoosterUpdateOneIter(m->booster, i, data)));
    return NULL;
}

gpuc_status gpuc_tune_model_train(gpuc_tune_model *m, const gpuc_tune_rows *rows, const float *labels,
                                  int num_groups, const unsigned *group_sizes)
{
    DMatrixHandle data;
    GPUC_TRY(make_matrix(m, rows, &data));
    gpuc_status status = learn(m, data, labels, rows->n, num_groups, group_sizes);
    m->XGDMatrixFree(data);
    if (status) forget(m);
    return status;
}

gpuc_status gpuc_tune_model_score(gpuc_tune_model *m, const gpuc_tune_rows *rows, float *scores)
{
    DMatrixHandle data;
    const float *result;
    bst_ulong n = 0;
    if (!m->booster) return gpuc_fail(GPUC_INVALID_ARGUMENT, "the cost model was not trained");
    GPUC_TRY(make_matrix(m, rows, &data));
    gpuc_status status = check(m, m->XGBoosterPredict(m->booster, data, 0, 0, 0, &n, &result));
    if (!status && n == (bst_ulong)rows->n) memcpy(scores, result, sizeof *scores * (size_t)n);
    m->XGDMatrixFree(data);
    if (!status && n != (bst_ulong)rows->n)
        status =
            gpuc_fail(GPUC_INTERNAL, "XGBoost gave %llu scores for %d rows", (unsigned long long)n, rows->n);
    return status;
}

#else

gpuc_status gpuc_tune_model_create(uint32_t seed, gpuc_tune_model **out)
{
    (void)seed;
    *out = NULL;
    return gpuc_fail(GPUC_UNSUPPORTED, "this gpuc was built without XGBoost");
}

void gpuc_tune_model_destroy(gpuc_tune_model *m)
{
    (void)m;
}

gpuc_status gpuc_tune_model_train(gpuc_tune_model *m, const gpuc_tune_rows *rows, const float *labels,
                                  int num_groups, const unsigned *group_sizes)
{
    (void)m, (void)rows, (void)labels, (void)num_groups, (void)group_sizes;
    return gpuc_fail(GPUC_UNSUPPORTED, "this gpuc was built without XGBoost");
}

gpuc_status gpuc_tune_model_score(gpuc_tune_model *m, const gpuc_tune_rows *rows, float *scores)
{
    (void)m, (void)rows, (void)scores;
    return gpuc_fail(GPUC_UNSUPPORTED, "this gpuc was built without XGBoost");
}

#endif
