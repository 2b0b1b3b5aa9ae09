/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tolerances that a test's folder states. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"

static gpuc_status wrong(const char *path, const char *what)
{
    return gpuc_fail(GPUC_INVALID_DATA,
                     "'%s': %s; it must be a list with {\"rtol\": .., \"atol\": ..} per output, and "
                     "\"rel_l2\" where wanted",
                     path, what);
}

static bool read_number(const cJSON *entry, const char *name, double *out)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(entry, name);
    if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble) || v->valuedouble < 0) return false;
    *out = v->valuedouble;
    return true;
}

static gpuc_status read_entry(const char *path, const cJSON *entry, cli_tolerance *out)
{
    if (!cJSON_IsObject(entry)) return wrong(path, "an entry is no object");
    *out = (cli_tolerance){.rel_l2 = -1};
    for (const cJSON *item = entry->child; item; item = item->next)
        if (strcmp(item->string, "rtol") != 0 && strcmp(item->string, "atol") != 0 &&
            strcmp(item->string, "rel_l2") != 0)
            return wrong(path, "an entry has an unknown name");
    if (!read_number(entry, "rtol", &out->rtol) || !read_number(entry, "atol", &out->atol))
        return wrong(path, "rtol or atol is missing or is no number from 0 on");
    if (cJSON_GetObjectItemCaseSensitive(entry, "rel_l2") && !read_number(entry, "rel_l2", &out->rel_l2))
        return wrong(path, "rel_l2 is no number from 0 on");
    return NULL;
}

static gpuc_status read_list(const char *path, const cJSON *root, int num_outputs, cli_tolerance *out)
{
    if (!root) return wrong(path, "it is not JSON");
    if (!cJSON_IsArray(root)) return wrong(path, "it is no list");
    if (cJSON_GetArraySize(root) != num_outputs)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': has %d entries, the data set %d outputs", path,
                         cJSON_GetArraySize(root), num_outputs);
    int i = 0;
    for (const cJSON *entry = root->child; entry; entry = entry->next)
        GPUC_TRY(read_entry(path, entry, &out[i++]));
    return NULL;
}

gpuc_status verify_read_tolerances(const char *folder, int num_outputs, cli_tolerance **out)
{
    char *path = cli_printf("%s/tolerance.json", folder);
    gpuc_mapping map;
    *out = NULL;
    gpuc_status status = gpuc_file_map(path, &map);
    if (gpuc_status_code(status) == GPUC_NOT_FOUND) {
        gpuc_status_release(status);
        free(path);
        return NULL;
    }
    if (!status) {
        const char *end = NULL;
        cJSON *root = cJSON_ParseWithLengthOpts((const char *)map.data, map.size, &end, false);
        /* Only white space may follow. */
        while (root && end < (const char *)map.data + map.size && strchr(" \t\r\n", *end) && *end) end++;
        if (root && end != (const char *)map.data + map.size) {
            cJSON_Delete(root);
            root = NULL;
        }
        *out = cli_alloc((size_t)num_outputs * sizeof **out);
        status = read_list(path, root, num_outputs, *out);
        cJSON_Delete(root);
        gpuc_file_unmap(&map);
    }
    if (status) {
        free(*out);
        *out = NULL;
    }
    free(path);
    return status;
}
