/* SPDX-License-Identifier: Apache-2.0 */
/* What the libraries need of files beyond <gpuc/files.h>. */
#ifndef GPUC_BASE_FILE_H
#define GPUC_BASE_FILE_H

#include <gpuc/files.h>

/* gpuc_file_map of a file that is open; path is for messages. */
GPUC_NODISCARD gpuc_status gpuc_file_map_open(int fd, const char *path, gpuc_mapping *out);
/* Bytes of a mapping that are not needed for now: their memory is given back; reading fetches them again. */
void gpuc_file_forget(const void *bytes, size_t size);

#endif
