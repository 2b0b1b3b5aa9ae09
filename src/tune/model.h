/* SPDX-License-Identifier: Apache-2.0 */
/* A cost model: gradient-boosted trees that learn to rank configurations (XGBoost). */
#ifndef GPUC_TUNE_MODEL_H
#define GPUC_TUNE_MODEL_H

#include <gpuc/base.h>

typedef struct gpuc_tune_model gpuc_tune_model;

/* A row of num_features numbers per configuration, NaN where it has none. */
typedef struct gpuc_tune_rows {
    int n, num_features;
    const float *at;
} gpuc_tune_rows;

/* UNSUPPORTED, with a message, where this gpuc was built without XGBoost or the library is not there. */
GPUC_NODISCARD gpuc_status gpuc_tune_model_create(uint32_t seed, gpuc_tune_model **out);
void gpuc_tune_model_destroy(gpuc_tune_model *m);
/* Rows of one group stand together and are ranked among themselves: the higher the label, the better. What
 * was learned before is forgotten. */
GPUC_NODISCARD gpuc_status gpuc_tune_model_train(gpuc_tune_model *m, const gpuc_tune_rows *rows,
                                                 const float *labels, int num_groups,
                                                 const unsigned *group_sizes);
/* Comparable numbers, high for what is expected to be fast. */
GPUC_NODISCARD gpuc_status gpuc_tune_model_score(gpuc_tune_model *m, const gpuc_tune_rows *rows,
                                                 float *scores);

#endif
