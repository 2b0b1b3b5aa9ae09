/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the section #[metadata] of TVM's texts: JSON with constants, whose bytes are arrays as TVM saves them, in base64. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "relay/infer.h"
#include "relay/parse.h"

typedef struct section {
    gpuc_relay_parser *p;
    gpuc_relay_token at; /* where the JSON begins */
} section;

static GPUC_NORETURN void fail(const section *s, const char *what, int node)
{
    gpuc_relay_parse_fail(s->p, &s->at, "#[metadata]: node %d of the JSON: %s", node, what);
}

/* ---- Arrays ---- */

/* A saved array: magic, 0, device type and number, rank, element type, extents, bytes, data. All are little-endian. */
enum { HEADER = 32, CODE_AT = 28 };
static const uint64_t MAGIC = UINT64_C(0xdd5e40f096b4a13f);

static uint64_t take(const uint8_t *bytes, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)bytes[i] << (8 * i);
    return v;
}

static bool take_type(const uint8_t *at, gpuc_dtype *out)
{
    static const char *const codes[] = {"int", "uint", "float", NULL, "bfloat"}; /* of DLPack */
    char name[24];
    if (at[0] >= sizeof codes / sizeof *codes || !codes[at[0]] || take(at + 2, 2) != 1) return false;
    snprintf(name, sizeof name, "%s%d", codes[at[0]], at[1]);
    return gpuc_dtype_parse(strcmp(name, "uint1") ? name : "bool", out) && out->lanes == 1;
}

static gpuc_rexpr *constant_of(const section *s, const uint8_t *bytes, size_t size, int node)
{
    gpuc_ctx *ctx = s->p->ctx;
    gpuc_dtype type;
    int64_t dims[GPUC_OP_MAX_DIMS], count = 1;
    if (size < HEADER || take(bytes, 8) != MAGIC) fail(s, "its array does not begin as one of TVM", node);
    uint64_t ndim = take(bytes + 24, 4);
    if (ndim > GPUC_OP_MAX_DIMS || size < HEADER + 8 * ndim + 8) fail(s, "its array is too short", node);
    if (!take_type(bytes + CODE_AT, &type)) fail(s, "its array has an element type that is not known", node);
    for (uint64_t i = 0; i < ndim; i++) {
        dims[i] = (int64_t)take(bytes + HEADER + 8 * i, 8);
        if (dims[i] < 0 || __builtin_mul_overflow(count, dims[i], &count))
            fail(s, "its array has wrong extents", node);
    }
    size_t begin = HEADER + 8 * (size_t)ndim + 8, rest = size - begin, each = gpuc_dtype_bytes(type);
    if ((uint64_t)count > rest || (size_t)count * each != rest || take(bytes + begin - 8, 8) != rest)
        fail(s, "the bytes of its array are not as many as its extents say", node);
    return gpuc_relay_const_bytes(ctx, type, (int)ndim, dims, bytes + begin);
}

/* ---- Nodes ---- */

static int number_of(const cJSON *j)
{
    if (cJSON_IsNumber(j)) return j->valueint;
    const char *text = cJSON_GetStringValue(j);
    if (!text || !*text || strlen(text) > 9 || strspn(text, "0123456789") < strlen(text)) return -1;
    int n = 0;
    for (; *text; text++) n = n * 10 + (*text - '0');
    return n;
}

/* A list of the JSON by number. */
typedef struct entries {
    cJSON **at;
    int n;
} entries;

static entries list_of(const section *s, const cJSON *list)
{
    entries e = {0};
    e.n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    e.at = gpuc_new_array(s->p->ctx, cJSON *, e.n + 1);
    int i = 0;
    for (cJSON *c = e.n ? list->child : NULL; c; c = c->next) e.at[i++] = c;
    return e;
}

static cJSON *entry(const entries *e, int i)
{
    return i >= 0 && i < e->n ? e->at[i] : NULL;
}

static const cJSON *get(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void add_constant(const section *s, const entries *nodes, const entries *arrays, int node)
{
    const cJSON *n = entry(nodes, node);
    const char *key = cJSON_GetStringValue(get(n, "type_key"));
    if (!key || strcmp(key, "relay.Constant")) fail(s, "it is no relay.Constant", node);
    const char *text = cJSON_GetStringValue(entry(arrays, number_of(get(get(n, "attrs"), "data"))));
    if (!text) fail(s, "'data' names no array of \"b64ndarrays\"", node);
    size_t length = strlen(text), size;
    uint8_t *bytes = gpuc_ctx_alloc(s->p->ctx, length + 1);
    if (!gpuc_relay_parse_base64(text, length, bytes, length, &size))
        fail(s, "a character of its array is not of base64", node);
    gpuc_ptrs_push(s->p->ctx, s->p->constants, constant_of(s, bytes, size, node));
}

static void read_json(const section *s, const cJSON *json)
{
    entries nodes = list_of(s, get(json, "nodes")), arrays = list_of(s, get(json, "b64ndarrays"));
    int root = number_of(get(json, "root"));
    const cJSON *map = entry(&nodes, root);
    entries keys = list_of(s, get(map, "keys")), data = list_of(s, get(map, "data"));
    if (!map || keys.n != data.n)
        gpuc_relay_parse_fail(s->p, &s->at, "#[metadata]: the root of the JSON is no map of names to lists");
    for (int i = 0; i < keys.n; i++) {
        const char *key = cJSON_GetStringValue(keys.at[i]);
        int list = number_of(data.at[i]);
        if (!key || strcmp(key, "relay.Constant")) continue;
        if (!entry(&nodes, list)) fail(s, "the list of constants is missing", root);
        entries all = list_of(s, get(entry(&nodes, list), "data"));
        for (int k = 0; k < all.n; k++) add_constant(s, &nodes, &arrays, number_of(all.at[k]));
    }
}

static void delete_json(void *json)
{
    cJSON_Delete(json);
}

void gpuc_relay_parse_metadata(gpuc_relay_parser *p)
{
    section s = {.p = p, .at = p->token};
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(p->token.at, &end, true);
    if (!json) {
        for (const char *c = p->token.at; end && c < end; c++) {
            s.at.column++;
            if (*c != '\n') continue;
            s.at.line++;
            s.at.column = 1;
        }
        gpuc_relay_parse_fail(p, &s.at, "#[metadata]: JSON is expected here");
    }
    gpuc_ctx_push_cleanup(p->ctx, delete_json, json);
    read_json(&s, json);
    gpuc_ctx_pop_cleanup(p->ctx, true);
}
