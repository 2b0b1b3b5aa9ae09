/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON as it goes. A name is NULL inside of an array. Numbers that JSON has no form for
 * (NaN, infinities) are null. */
#ifndef GPUC_CLI_JSON_H
#define GPUC_CLI_JSON_H

#include <stdio.h>

#include "text.h"

typedef struct cli_json {
    cli_text text;
    int depth;
    bool has_items[16]; /* per open object or array */
} cli_json;

void cli_json_init(cli_json *j);
void cli_json_deinit(cli_json *j);
void cli_json_object(cli_json *j, const char *name);
void cli_json_array(cli_json *j, const char *name);
void cli_json_end_object(cli_json *j);
void cli_json_end_array(cli_json *j);
void cli_json_string(cli_json *j, const char *name, const char *value); /* NULL is null */
void cli_json_int(cli_json *j, const char *name, int64_t value);
void cli_json_hex(cli_json *j, const char *name, uint64_t value); /* as a string of 16 digits */
void cli_json_number(cli_json *j, const char *name, double value);
void cli_json_bool(cli_json *j, const char *name, bool value);
void cli_json_dims(cli_json *j, const char *name, int ndim, const int64_t *dims, const char *const *names);
/* Prints the text and a newline, and starts over. */
void cli_json_print(cli_json *j, FILE *to);

#endif
