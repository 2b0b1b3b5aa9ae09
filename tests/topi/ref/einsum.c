/* SPDX-License-Identifier: Apache-2.0 */
/* numpy's einsum and tensordot: a loop over every index there is. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ref.h"

static void append(char *text, int c)
{
    size_t n = strlen(text);
    text[n] = (char)c;
    text[n + 1] = 0;
}

/* A term with digits for the dimensions of its ellipsis, the last of them 0. */
static void expand(const char *term, size_t length, int dots, char *out)
{
    for (size_t i = 0; i < length; i++) {
        if (isalpha((unsigned char)term[i])) *out++ = term[i];
        if (term[i] != '.') continue;
        for (int k = dots - 1; k >= 0; k--) *out++ = (char)('0' + k);
        i += 2;
    }
    *out = 0;
}

static void contract(ref_call *c, char terms[][32], const char *result)
{
    char labels[64] = "";
    int64_t extent[256] = {0}, index[256] = {0}, dims[REF_DIMS], total = 1;
    int ndim = (int)strlen(result);
    strcpy(labels, result);
    for (int i = 0; i < c->num_in; i++)
        for (int k = 0; terms[i][k]; k++) {
            unsigned char l = (unsigned char)terms[i][k];
            if (!strchr(labels, l)) append(labels, l);
            if (extent[l] == 0 || extent[l] == 1) extent[l] = c->in[i].dims[k];
        }
    for (int k = 0; k < ndim; k++) dims[k] = extent[(unsigned char)result[k]];
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, ndim, dims);
    for (int k = 0; labels[k]; k++) total *= extent[(unsigned char)labels[k]];
    for (int64_t n = 0; n < total; n++) {
        int64_t rest = n, at[REF_DIMS];
        double product = 1;
        for (int k = (int)strlen(labels) - 1; k >= 0; k--) {
            unsigned char l = (unsigned char)labels[k];
            index[l] = rest % extent[l];
            rest /= extent[l];
        }
        for (int i = 0; i < c->num_in; i++) {
            for (int k = 0; terms[i][k]; k++)
                at[k] = c->in[i].dims[k] == 1 ? 0 : index[(unsigned char)terms[i][k]];
            product *= c->in[i].v[ref_at(&c->in[i], at)];
        }
        for (int k = 0; k < ndim; k++) at[k] = index[(unsigned char)result[k]];
        y->v[ref_at(y, at)] += product;
    }
}

static void einsum(ref_call *c)
{
    char text[64], terms[8][32], result[64] = "", *p = text;
    strcpy(text, ref_string(c, "equation", ""));
    int max = 0;
    for (int i = 0; i < c->num_in; i++) {
        size_t n = strcspn(p, ",-"), letters = 0;
        for (size_t k = 0; k < n; k++) letters += isalpha((unsigned char)p[k]) != 0;
        int dots = c->in[i].ndim - (int)letters;
        if (memchr(p, '.', n) && dots > max) max = dots;
        expand(p, n, dots, terms[i]);
        p += n + (p[n] == ',');
    }
    if (*p == '-') {
        expand(p + 2, strlen(p + 2), max, result);
    } else {
        for (int k = max - 1; k >= 0; k--) append(result, '0' + k);
        for (int l = 'A'; l <= 'z'; l++) {
            int count = 0;
            for (int i = 0; i < c->num_in; i++)
                for (int k = 0; terms[i][k]; k++) count += terms[i][k] == l;
            if (count == 1) append(result, l);
        }
    }
    contract(c, terms, result);
}

static void tensordot(ref_call *c)
{
    char terms[8][32] = {"abcdefgh", "ijklmnop"}, result[64] = "";
    int64_t axes[2][REF_DIMS], count = ref_ints(c, "a_axes", axes[0]);
    ref_ints(c, "b_axes", axes[1]);
    if (!strstr(c->attrs, "_axes")) {
        count = ref_int(c, "axes", 2);
        for (int64_t k = 0; k < count; k++) {
            axes[0][k] = c->in[0].ndim - count + k;
            axes[1][k] = k;
        }
    }
    for (int i = 0; i < 2; i++) terms[i][c->in[i].ndim] = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t a = axes[0][k], b = axes[1][k];
        terms[0][a < 0 ? a + c->in[0].ndim : a] = terms[1][b < 0 ? b + c->in[1].ndim : b] = (char)('A' + k);
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; terms[i][k]; k++)
            if (islower((unsigned char)terms[i][k])) append(result, terms[i][k]);
    contract(c, terms, result);
}

const ref_row ref_rows_einsum[] = {{"einsum", einsum}, {"tensordot", tensordot}, {NULL, NULL}};
