/* SPDX-License-Identifier: Apache-2.0 */
/* Parses references to constants, and the section that holds them, which stands last. */
#include <string.h>

#include "relay/infer.h"
#include "relay/parse.h"

/* ---- References ---- */

gpuc_rexpr *gpuc_relay_parse_meta(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    gpuc_relay_parse_expect(p, "meta");
    gpuc_relay_parse_expect(p, "[");
    gpuc_relay_token kind = p->token;
    if (strcmp(gpuc_relay_parse_word(p, "relay.Constant"), "relay.Constant"))
        gpuc_relay_parse_fail(p, &kind, "only meta[relay.Constant] can be read");
    gpuc_relay_parse_expect(p, "]");
    gpuc_relay_parse_expect(p, "[");
    gpuc_relay_token number = p->token;
    size_t index = 0;
    if (number.kind != GPUC_RELAY_TOKEN_NUMBER || number.length > 9 ||
        strspn(number.at, "0123456789") < number.length)
        gpuc_relay_parse_fail(p, &number, "the number of a constant is expected, of up to 9 digits");
    for (size_t i = 0; i < number.length; i++) index = index * 10 + (size_t)(number.at[i] - '0');
    gpuc_relay_parse_advance(p);
    gpuc_relay_parse_expect(p, "]");
    if (index < p->num_given) return p->constants->at[index];
    gpuc_rexpr *e = gpuc_map_get(&p->promised, (const void *)(uintptr_t)(index + 1));
    if (e) return e;
    gpuc_relay_promise *promise = gpuc_new(p->ctx, gpuc_relay_promise);
    e = gpuc_relay_promised_constant(p->ctx);
    *promise = (gpuc_relay_promise){index, e, at};
    gpuc_map_set(&p->promised, (const void *)(uintptr_t)(index + 1), e);
    gpuc_ptrs_push(p->ctx, &p->promises, promise);
    return e;
}

void gpuc_relay_parse_keep_promises(gpuc_relay_parser *p)
{
    for (size_t i = 0; i < p->promises.count; i++) {
        const gpuc_relay_promise *promise = p->promises.at[i];
        if (promise->index >= p->constants->count)
            gpuc_relay_parse_fail(
                p, &promise->at,
                "there are %zu constants: the section #[constants] or #[metadata] holds them",
                p->constants->count);
        gpuc_relay_keep_promise(promise->constant, p->constants->at[promise->index]);
        p->constants->at[promise->index] = promise->constant;
    }
}

/* ---- The section ---- */

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool gpuc_relay_parse_base64(const char *text, size_t length, void *out, size_t room, size_t *size)
{
    uint32_t bits = 0;
    int have = 0, padding = 0;
    *size = 0;
    while (padding < 2 && length && text[length - 1] == '=') length--, padding++;
    for (size_t i = 0; i < length; i++) {
        int v = digit_value(text[i]);
        if (v < 0) return false;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (*size < room) ((uint8_t *)out)[*size] = (uint8_t)(bits >> have);
        ++*size;
    }
    return true;
}

static void read_bytes(gpuc_relay_parser *p, const gpuc_relay_token *t, gpuc_const_data *data)
{
    size_t n;
    if (!gpuc_relay_parse_base64(t->at + 1, t->length - 2, data->bytes, data->size, &n))
        gpuc_relay_parse_fail(p, t, "a character is not of base64");
    if (n != data->size)
        gpuc_relay_parse_fail(p, t, "the constant has %zu bytes, its type has %zu", n, data->size);
}

static void parse_constant(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    const gpuc_rtype *t = gpuc_relay_parse_type(p);
    int64_t dims[GPUC_OP_MAX_DIMS], bytes = 1;
    if (t->kind != GPUC_RTYPE_TENSOR || !gpuc_relay_tensor_type_static(&t->tensor, dims))
        gpuc_relay_parse_fail(p, &at, "a constant is a tensor whose extents are numbers");
    gpuc_relay_token text = p->token;
    if (text.kind != GPUC_RELAY_TOKEN_STRING) gpuc_relay_parse_fail(p, &text, "the bytes follow, in base64");
    for (int i = 0; i < t->tensor.ndim; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes)) bytes = INT64_MAX / 64;
    if ((uint64_t)bytes > text.length)
        gpuc_relay_parse_fail(p, &text, "the constant has fewer bytes than its type");
    gpuc_const_data *data =
        gpuc_relay_const_data_create(p->ctx, (size_t)gpuc_relay_tensor_type_bytes(p->ctx, &t->tensor));
    read_bytes(p, &text, data);
    gpuc_relay_parse_advance(p);
    gpuc_ptrs_push(p->ctx, p->constants, gpuc_relay_constant(p->ctx, t, data));
}

void gpuc_relay_parse_constants(gpuc_relay_parser *p)
{
    while (p->token.kind != GPUC_RELAY_TOKEN_END) parse_constant(p);
}
