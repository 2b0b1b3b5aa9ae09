/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TESTS_TOOLS_MAKE_FILES_H
#define GPUC_TESTS_TOOLS_MAKE_FILES_H

#include "tensor.h"

/* Ends the program with the message. */
void must(gpuc_status status);
/* path below the folder that the program was given; valid until the next few calls. */
const char *in_folder(const char *path);
void put(const char *path, const void *bytes, size_t size);
void put_pb(const char *path, const gpuc_host_tensor *t);
gpuc_host_tensor ramp(int ndim, const int64_t *dims, double first);

void make_models(void);

#endif
