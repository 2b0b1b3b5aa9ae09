/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON. */
#include "json.h"

#include <math.h>
#include <stdlib.h>

#include "cli.h"

void cli_json_init(cli_json *j)
{
    *j = (cli_json){0};
}

void cli_json_deinit(cli_json *j)
{
    cli_text_free(&j->text);
}

/* Length of the UTF-8 sequence at s, 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : (s[0] & 0xf0) == 0xe0       ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    return n;
}

static void quoted(cli_text *buf, const char *text)
{
    cli_text_add(buf, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (*s == '"' || *s == '\\')
            cli_text_printf(buf, "\\%c", *s);
        else if (*s == '\n')
            cli_text_add(buf, "\\n");
        else if (*s < 0x20 || *s == 0x7f)
            cli_text_printf(buf, "\\u%04x", *s);
        else if (n == 0)
            cli_text_add(buf, "\\ufffd");
        else
            cli_text_bytes(buf, s, (size_t)n);
        s += n ? n : 1;
    }
    cli_text_add(buf, "\"");
}

static void item(cli_json *j, const char *name)
{
    if (j->depth && j->has_items[j->depth]) cli_text_add(&j->text, ", ");
    if (j->depth) j->has_items[j->depth] = true;
    if (!name) return;
    quoted(&j->text, name);
    cli_text_add(&j->text, ": ");
}

static void begin(cli_json *j, const char *name, const char *bracket)
{
    item(j, name);
    cli_text_add(&j->text, bracket);
    j->has_items[++j->depth] = false;
}

static void finish(cli_json *j, const char *bracket)
{
    cli_text_add(&j->text, bracket);
    j->depth--;
}

void cli_json_object(cli_json *j, const char *name)
{
    begin(j, name, "{");
}

void cli_json_array(cli_json *j, const char *name)
{
    begin(j, name, "[");
}

void cli_json_end_object(cli_json *j)
{
    finish(j, "}");
}

void cli_json_end_array(cli_json *j)
{
    finish(j, "]");
}

void cli_json_string(cli_json *j, const char *name, const char *value)
{
    item(j, name);
    if (value)
        quoted(&j->text, value);
    else
        cli_text_add(&j->text, "null");
}

void cli_json_int(cli_json *j, const char *name, int64_t value)
{
    item(j, name);
    cli_text_printf(&j->text, "%lld", (long long)value);
}

void cli_json_hex(cli_json *j, const char *name, uint64_t value)
{
    item(j, name);
    cli_text_printf(&j->text, "\"%016llx\"", (unsigned long long)value);
}

void cli_json_number(cli_json *j, const char *name, double value)
{
    char digits[32];
    item(j, name);
    for (int n = 6; n <= 17; n++) { /* the shortest that reads back the same */
        snprintf(digits, sizeof digits, "%.*g", n, value);
        if (strtod(digits, NULL) == value) break;
    }
    cli_text_add(&j->text, isfinite(value) ? digits : "null");
}

void cli_json_bool(cli_json *j, const char *name, bool value)
{
    item(j, name);
    cli_text_add(&j->text, value ? "true" : "false");
}

void cli_json_dims(cli_json *j, const char *name, int ndim, const int64_t *dims, const char *const *names)
{
    cli_json_array(j, name);
    for (int i = 0; i < ndim; i++) {
        if (dims[i] >= 0)
            cli_json_int(j, NULL, dims[i]);
        else
            cli_json_string(j, NULL, names && names[i] && names[i][0] ? names[i] : "?");
    }
    cli_json_end_array(j);
}

void cli_json_print(cli_json *j, FILE *to)
{
    fprintf(to, "%s\n", cli_text_get(&j->text));
    fflush(to);
    cli_text_free(&j->text);
}
