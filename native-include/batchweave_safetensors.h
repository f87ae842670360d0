/*
 * The header of a safetensors slice: which tensors lie where. C11 and C++, no dependency, no I/O.
 *
 *   +0          header length n, u64 little endian
 *   +8          header: one JSON object, n bytes of UTF-8, padded at its end with white space
 *   +8+n        data: the tensors without gap or overlap, to the end of the slice
 *
 *   {"__metadata__": {"key": "text", ...},
 *    "name": {"dtype": "I32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
 *
 * The rules are those of the public library, with these differences, all on the strict side: the
 * header begins with '{'; a name occurs once; the limits below; only whole-byte types; the sizes
 * that are not zero multiply to at most 2^63 - 1. Nothing is trusted: every number is checked
 * against the slice before anyone can use it.
 *
 * Threading: a table belongs to one thread at a time; there is no global state.
 */
#ifndef BATCHWEAVE_SAFETENSORS_H
#define BATCHWEAVE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits. */
#define BW_SAFETENSORS_HEADER_BYTES 100000000u /* the public library's; bounds tensors and names */
#define BW_SAFETENSORS_DIMENSIONS 64u
#define BW_SAFETENSORS_NESTING 64u

/* Element types, in the order of bw_safetensors_dtype_table. */
typedef enum bw_safetensors_dtype {
  BW_DTYPE_BOOL,
  BW_DTYPE_U8,
  BW_DTYPE_I8,
  BW_DTYPE_I16,
  BW_DTYPE_U16,
  BW_DTYPE_F16,
  BW_DTYPE_BF16,
  BW_DTYPE_I32,
  BW_DTYPE_U32,
  BW_DTYPE_F32,
  BW_DTYPE_F64,
  BW_DTYPE_I64,
  BW_DTYPE_U64,
  BW_DTYPE_F8_E4M3,
  BW_DTYPE_F8_E5M2,
  BW_DTYPE_F8_E4M3FNUZ,
  BW_DTYPE_F8_E5M2FNUZ,
  BW_DTYPE_F8_E8M0,
  BW_DTYPE_C64,
  BW_DTYPE_COUNT
} bw_safetensors_dtype;

/* What the world calls one element type. */
typedef struct bw_safetensors_dtype_info {
  const char* name;      /* in the header */
  uint8_t size_bytes;    /* of one element, also its natural alignment */
  uint8_t dlpack_code;   /* DLDataType.code; bits are 8 * size_bytes, one lane */
  const char* pep3118;   /* struct-module format, NULL where there is none */
} bw_safetensors_dtype_info;

static inline const bw_safetensors_dtype_info* bw_safetensors_dtype_of(int dtype) {
  static const bw_safetensors_dtype_info infos[BW_DTYPE_COUNT] = {
      {"BOOL", 1, 6, "?"}, {"U8", 1, 1, "B"},  {"I8", 1, 0, "b"},       {"I16", 2, 0, "h"},
      {"U16", 2, 1, "H"},  {"F16", 2, 2, "e"}, {"BF16", 2, 4, NULL},    {"I32", 4, 0, "i"},
      {"U32", 4, 1, "I"},  {"F32", 4, 2, "f"}, {"F64", 8, 2, "d"},      {"I64", 8, 0, "q"},
      {"U64", 8, 1, "Q"},  {"F8_E4M3", 1, 10, NULL}, {"F8_E5M2", 1, 12, NULL},
      {"F8_E4M3FNUZ", 1, 11, NULL}, {"F8_E5M2FNUZ", 1, 13, NULL}, {"F8_E8M0", 1, 14, NULL},
      {"C64", 8, 5, "Zf"},
  };
  return &infos[dtype];
}

/* One tensor of a slice. */
typedef struct bw_safetensors_tensor {
  const char* name;         /* UTF-8, terminated by NUL, lives as long as the table */
  const int64_t* shape;     /* `dimensions` sizes, row-major */
  uint64_t offset;          /* of the first byte, from the start of the slice */
  uint64_t length_bytes;
  uint32_t name_bytes;      /* without the NUL */
  uint32_t dimensions;      /* 0 is a scalar */
  int dtype;                /* bw_safetensors_dtype */
} bw_safetensors_tensor;

/* The parsed header; a zeroed table is an empty one and may be used again for the next slice. */
typedef struct bw_safetensors_table {
  bw_safetensors_tensor* tensors; /* in the order of the header */
  uint32_t count;
  uint64_t data_offset;           /* of the first data byte, from the start of the slice */
  void* arena;
  size_t arena_bytes;
} bw_safetensors_table;

typedef enum bw_safetensors_status {
  BW_SAFETENSORS_OK = 0,
  BW_SAFETENSORS_CORRUPT = 1,   /* not what any writer may write */
  BW_SAFETENSORS_LIMIT = 2,     /* beyond a limit above, or an element type we do not know */
  BW_SAFETENSORS_NO_MEMORY = 3
} bw_safetensors_status;

/* Where and why. */
typedef struct bw_safetensors_error {
  uint64_t offset;              /* from the start of the slice */
  const char* reason;           /* static text */
} bw_safetensors_error;

/* ---- how it works: one pass over the header, then two sorts ---- */

typedef struct bw_safetensors_cursor {
  const uint8_t* begin;         /* of the slice */
  const uint8_t* at;
  const uint8_t* end;           /* of the header */
  char* text;                   /* where the next name goes: never longer than its JSON */
  int64_t* sizes;               /* where the next shape goes */
  bw_safetensors_error* error;
} bw_safetensors_cursor;

static inline bw_safetensors_status bw_safetensors_fail(
    bw_safetensors_cursor* c, bw_safetensors_status status, const char* reason) {
  c->error->offset = (uint64_t)(c->at - c->begin);
  c->error->reason = reason;
  return status;
}

static inline bw_safetensors_status bw_safetensors_corrupt(
    bw_safetensors_cursor* c, const char* reason) {
  return bw_safetensors_fail(c, BW_SAFETENSORS_CORRUPT, reason);
}

static inline void bw_safetensors_blank(bw_safetensors_cursor* c) {
  while (c->at < c->end &&
         (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) {
    c->at++;
  }
}

/* Takes the punctuation if it comes next. */
static inline bool bw_safetensors_take(bw_safetensors_cursor* c, char punctuation) {
  bw_safetensors_blank(c);
  if (c->at < c->end && *c->at == (uint8_t)punctuation) {
    c->at++;
    return true;
  }
  return false;
}

static inline int bw_safetensors_hex4(const bw_safetensors_cursor* c, const uint8_t* at) {
  int value = 0;
  if (c->end - at < 4) {
    return -1;
  }
  for (int i = 0; i < 4; i++) {
    const uint8_t digit = at[i];
    const int nibble = digit >= '0' && digit <= '9'   ? digit - '0'
                       : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                       : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                      : -1;
    if (nibble < 0) {
      return -1;
    }
    value = value * 16 + nibble;
  }
  return value;
}

static inline char* bw_safetensors_put_utf8(char* out, uint32_t point) {
  if (point < 0x80) {
    *out++ = (char)point;
  } else if (point < 0x800) {
    *out++ = (char)(0xC0 | (point >> 6));
    *out++ = (char)(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    *out++ = (char)(0xE0 | (point >> 12));
    *out++ = (char)(0x80 | ((point >> 6) & 0x3F));
    *out++ = (char)(0x80 | (point & 0x3F));
  } else {
    *out++ = (char)(0xF0 | (point >> 18));
    *out++ = (char)(0x80 | ((point >> 12) & 0x3F));
    *out++ = (char)(0x80 | ((point >> 6) & 0x3F));
    *out++ = (char)(0x80 | (point & 0x3F));
  }
  return out;
}

/* Length of the well-formed UTF-8 sequence at `at`, 0 if there is none. */
static inline int bw_safetensors_utf8(const uint8_t* at, const uint8_t* end) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  const int length = at[0] < 0x80             ? 1
                     : (at[0] & 0xE0) == 0xC0 ? 2
                     : (at[0] & 0xF0) == 0xE0 ? 3
                     : (at[0] & 0xF8) == 0xF0 ? 4
                                              : 0;
  if (length < 2) {
    return length;
  }
  if (end - at < length) {
    return 0;
  }
  uint32_t point = at[0] & (0x7Fu >> length);
  for (int i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) {
      return 0;
    }
    point = (point << 6) | (at[i] & 0x3Fu);
  }
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < least[length] || point > 0x10FFFF || surrogate ? 0 : length;
}

static inline bw_safetensors_status bw_safetensors_escape(bw_safetensors_cursor* c, char** out) {
  static const char from[] = "\"\\/bfnrt";
  static const char to[] = "\"\\/\b\f\n\r\t";
  if (c->at == c->end) {
    return bw_safetensors_corrupt(c, "text without an end");
  }
  if (*c->at != 'u') {
    const char* known = *c->at == 0 ? NULL : strchr(from, *c->at);
    if (known == NULL) {
      return bw_safetensors_corrupt(c, "unknown escape in text");
    }
    *(*out)++ = to[known - from];
    c->at++;
    return BW_SAFETENSORS_OK;
  }
  const int high = bw_safetensors_hex4(c, c->at + 1);
  if (high < 0) {
    return bw_safetensors_corrupt(c, "\\u without four hex digits");
  }
  if (high < 0xD800 || high > 0xDFFF) {
    *out = bw_safetensors_put_utf8(*out, (uint32_t)high);
    c->at += 5;
    return BW_SAFETENSORS_OK;
  }
  const bool paired = c->end - c->at >= 11 && c->at[5] == '\\' && c->at[6] == 'u';
  const int low = paired ? bw_safetensors_hex4(c, c->at + 7) : -1;
  if (high > 0xDBFF || low < 0xDC00 || low > 0xDFFF) {
    return bw_safetensors_corrupt(c, "half of a surrogate pair in text");
  }
  *out = bw_safetensors_put_utf8(
      *out, 0x10000u + (((uint32_t)high - 0xD800u) << 10) + ((uint32_t)low - 0xDC00u));
  c->at += 11;
  return BW_SAFETENSORS_OK;
}

/* A JSON string, decoded to c->text, which does not move: the caller keeps it or reuses it. */
static inline bw_safetensors_status bw_safetensors_text(bw_safetensors_cursor* c, size_t* bytes) {
  char* out = c->text;
  if (!bw_safetensors_take(c, '"')) {
    return bw_safetensors_corrupt(c, "text expected");
  }
  while (c->at < c->end && *c->at != '"') {
    if (*c->at < 0x20) {
      return bw_safetensors_corrupt(c, "control character in text");
    }
    if (*c->at == '\\') {
      c->at++;
      const bw_safetensors_status status = bw_safetensors_escape(c, &out);
      if (status != BW_SAFETENSORS_OK) {
        return status;
      }
      continue;
    }
    const int length = bw_safetensors_utf8(c->at, c->end);
    if (length == 0) {
      return bw_safetensors_corrupt(c, "text is not UTF-8");
    }
    for (int i = 0; i < length; i++) {
      *out++ = (char)*c->at++;
    }
  }
  if (c->at == c->end) {
    return bw_safetensors_corrupt(c, "text without an end");
  }
  c->at++;
  *out = 0;
  *bytes = (size_t)(out - c->text);
  return BW_SAFETENSORS_OK;
}

static inline bool bw_safetensors_digit(const bw_safetensors_cursor* c) {
  return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

/* A size or an offset: digits only, at most 2^63 - 1. */
static inline bw_safetensors_status bw_safetensors_count(
    bw_safetensors_cursor* c, int64_t* value) {
  int64_t v = 0;
  bw_safetensors_blank(c);
  const bool zero = c->at < c->end && *c->at == '0';
  if (!bw_safetensors_digit(c)) {
    return bw_safetensors_corrupt(c, "whole number expected");
  }
  do {
    const int64_t digit = *c->at - '0';
    if (v > (INT64_MAX - digit) / 10) {
      return bw_safetensors_corrupt(c, "number above 2^63 - 1");
    }
    v = v * 10 + digit;
    c->at++;
  } while (!zero && bw_safetensors_digit(c));
  if (c->at < c->end &&
      (bw_safetensors_digit(c) || *c->at == '.' || *c->at == 'e' || *c->at == 'E')) {
    return bw_safetensors_corrupt(c, "whole number expected");
  }
  *value = v;
  return BW_SAFETENSORS_OK;
}

static inline bool bw_safetensors_word(bw_safetensors_cursor* c, const char* word) {
  const size_t length = strlen(word);
  if ((size_t)(c->end - c->at) >= length && memcmp(c->at, word, length) == 0) {
    c->at += length;
    return true;
  }
  return false;
}

static inline bw_safetensors_status bw_safetensors_skip_number(bw_safetensors_cursor* c) {
  if (*c->at == '-') {
    c->at++;
  }
  if (!bw_safetensors_digit(c)) {
    return bw_safetensors_corrupt(c, "value expected");
  }
  const bool zero = *c->at == '0';
  c->at++;
  if (zero && bw_safetensors_digit(c)) {
    return bw_safetensors_corrupt(c, "number with a leading zero");
  }
  while (bw_safetensors_digit(c)) {
    c->at++;
  }
  for (int part = 0; part < 2; part++) {
    const bool fraction = part == 0 && c->at < c->end && *c->at == '.';
    const bool exponent = part == 1 && c->at < c->end && (*c->at == 'e' || *c->at == 'E');
    if (!fraction && !exponent) {
      continue;
    }
    c->at++;
    if (exponent && c->at < c->end && (*c->at == '+' || *c->at == '-')) {
      c->at++;
    }
    if (!bw_safetensors_digit(c)) {
      return bw_safetensors_corrupt(c, "number without digits");
    }
    while (bw_safetensors_digit(c)) {
      c->at++;
    }
  }
  return BW_SAFETENSORS_OK;
}

/* Any JSON value of a field that we do not know. */
static inline bw_safetensors_status bw_safetensors_skip(bw_safetensors_cursor* c, unsigned depth) {
  size_t bytes = 0;
  bw_safetensors_blank(c);
  if (c->at == c->end) {
    return bw_safetensors_corrupt(c, "value expected");
  }
  if (*c->at == '"') {
    return bw_safetensors_text(c, &bytes);
  }
  if (*c->at != '{' && *c->at != '[') {
    return bw_safetensors_word(c, "true") || bw_safetensors_word(c, "false") ||
                   bw_safetensors_word(c, "null")
               ? BW_SAFETENSORS_OK
               : bw_safetensors_skip_number(c);
  }
  if (depth == BW_SAFETENSORS_NESTING) {
    return bw_safetensors_fail(c, BW_SAFETENSORS_LIMIT, "nested too deeply");
  }
  const bool object = *c->at++ == '{';
  const char close = object ? '}' : ']';
  if (bw_safetensors_take(c, close)) {
    return BW_SAFETENSORS_OK;
  }
  do {
    bw_safetensors_status status = object ? bw_safetensors_text(c, &bytes) : BW_SAFETENSORS_OK;
    if (status == BW_SAFETENSORS_OK && object && !bw_safetensors_take(c, ':')) {
      status = bw_safetensors_corrupt(c, "':' expected");
    }
    if (status == BW_SAFETENSORS_OK) {
      status = bw_safetensors_skip(c, depth + 1);
    }
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
  } while (bw_safetensors_take(c, ','));
  return bw_safetensors_take(c, close) ? BW_SAFETENSORS_OK
                                       : bw_safetensors_corrupt(c, "',' or a bracket expected");
}

/* The value of "__metadata__": null, or an object of texts. */
static inline bw_safetensors_status bw_safetensors_metadata(bw_safetensors_cursor* c) {
  size_t bytes = 0;
  bw_safetensors_blank(c);
  if (bw_safetensors_word(c, "null")) {
    return BW_SAFETENSORS_OK;
  }
  if (!bw_safetensors_take(c, '{')) {
    return bw_safetensors_corrupt(c, "__metadata__ is not an object");
  }
  if (bw_safetensors_take(c, '}')) {
    return BW_SAFETENSORS_OK;
  }
  do {
    bw_safetensors_status status = bw_safetensors_text(c, &bytes);
    if (status == BW_SAFETENSORS_OK && !bw_safetensors_take(c, ':')) {
      status = bw_safetensors_corrupt(c, "':' expected");
    }
    if (status == BW_SAFETENSORS_OK) {
      status = bw_safetensors_text(c, &bytes);
    }
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
  } while (bw_safetensors_take(c, ','));
  return bw_safetensors_take(c, '}') ? BW_SAFETENSORS_OK
                                     : bw_safetensors_corrupt(c, "',' or '}' expected");
}

/* Whether the text just read is this word; a text may contain NUL. */
static inline bool bw_safetensors_is(
    const bw_safetensors_cursor* c, size_t bytes, const char* word) {
  return bytes == strlen(word) && memcmp(c->text, word, bytes) == 0;
}

static inline bw_safetensors_status bw_safetensors_dtype_field(
    bw_safetensors_cursor* c, bw_safetensors_tensor* tensor) {
  size_t bytes = 0;
  const bw_safetensors_status status = bw_safetensors_text(c, &bytes);
  if (status != BW_SAFETENSORS_OK) {
    return status;
  }
  for (int i = 0; i < BW_DTYPE_COUNT; i++) {
    if (bw_safetensors_is(c, bytes, bw_safetensors_dtype_of(i)->name)) {
      tensor->dtype = i;
      return BW_SAFETENSORS_OK;
    }
  }
  return bw_safetensors_fail(c, BW_SAFETENSORS_LIMIT, "unknown dtype");
}

static inline bw_safetensors_status bw_safetensors_shape_field(
    bw_safetensors_cursor* c, bw_safetensors_tensor* tensor) {
  if (!bw_safetensors_take(c, '[')) {
    return bw_safetensors_corrupt(c, "shape is not an array");
  }
  tensor->shape = c->sizes;
  if (bw_safetensors_take(c, ']')) {
    return BW_SAFETENSORS_OK;
  }
  do {
    if (tensor->dimensions == BW_SAFETENSORS_DIMENSIONS) {
      return bw_safetensors_fail(c, BW_SAFETENSORS_LIMIT, "more than 64 dimensions");
    }
    const bw_safetensors_status status = bw_safetensors_count(c, c->sizes);
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
    c->sizes++;
    tensor->dimensions++;
  } while (bw_safetensors_take(c, ','));
  return bw_safetensors_take(c, ']') ? BW_SAFETENSORS_OK
                                     : bw_safetensors_corrupt(c, "',' or ']' expected");
}

static inline bw_safetensors_status bw_safetensors_offsets_field(
    bw_safetensors_cursor* c, bw_safetensors_tensor* tensor) {
  int64_t offsets[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    if (!bw_safetensors_take(c, i == 0 ? '[' : ',')) {
      return bw_safetensors_corrupt(c, "data_offsets is not [begin, end]");
    }
    const bw_safetensors_status status = bw_safetensors_count(c, &offsets[i]);
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
  }
  if (!bw_safetensors_take(c, ']') || offsets[1] < offsets[0]) {
    return bw_safetensors_corrupt(c, "data_offsets is not [begin, end]");
  }
  tensor->offset = (uint64_t)offsets[0];
  tensor->length_bytes = (uint64_t)(offsets[1] - offsets[0]);
  return BW_SAFETENSORS_OK;
}

/* Whether shape and type say as many bytes as data_offsets. */
static inline bw_safetensors_status bw_safetensors_check_length(
    bw_safetensors_cursor* c, const bw_safetensors_tensor* tensor) {
  int64_t bytes = bw_safetensors_dtype_of(tensor->dtype)->size_bytes;
  bool empty = false;
  for (uint32_t i = 0; i < tensor->dimensions; i++) {
    const int64_t size = tensor->shape[i];
    empty = empty || size == 0;
    if (size != 0 && bytes > INT64_MAX / size) {
      return bw_safetensors_corrupt(c, "shape above 2^63 - 1 bytes");
    }
    bytes *= size == 0 ? 1 : size;
  }
  return tensor->length_bytes == (empty ? 0u : (uint64_t)bytes)
             ? BW_SAFETENSORS_OK
             : bw_safetensors_corrupt(c, "data_offsets and shape differ in length");
}

/* The object after a tensor's name. */
static inline bw_safetensors_status bw_safetensors_tensor_value(
    bw_safetensors_cursor* c, bw_safetensors_tensor* tensor) {
  static const char* const fields[3] = {"dtype", "shape", "data_offsets"};
  bool seen[3] = {false, false, false};
  size_t bytes = 0;
  if (!bw_safetensors_take(c, '{')) {
    return bw_safetensors_corrupt(c, "tensor is not an object");
  }
  const bool empty = bw_safetensors_take(c, '}');
  do {
    bw_safetensors_status status = BW_SAFETENSORS_OK;
    if (empty) {
      break;
    }
    status = bw_safetensors_text(c, &bytes);
    if (status == BW_SAFETENSORS_OK && !bw_safetensors_take(c, ':')) {
      status = bw_safetensors_corrupt(c, "':' expected");
    }
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
    int field = 0;
    while (field < 3 && !bw_safetensors_is(c, bytes, fields[field])) {
      field++;
    }
    if (field < 3 && seen[field]) {
      return bw_safetensors_corrupt(c, "field occurs twice");
    }
    status = field == 0   ? bw_safetensors_dtype_field(c, tensor)
             : field == 1 ? bw_safetensors_shape_field(c, tensor)
             : field == 2 ? bw_safetensors_offsets_field(c, tensor)
                          : bw_safetensors_skip(c, 0);
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
    if (field < 3) {
      seen[field] = true;
    }
  } while (bw_safetensors_take(c, ','));
  if (!empty && !bw_safetensors_take(c, '}')) {
    return bw_safetensors_corrupt(c, "',' or '}' expected");
  }
  if (!seen[0] || !seen[1] || !seen[2]) {
    return bw_safetensors_corrupt(c, "tensor without dtype, shape or data_offsets");
  }
  return bw_safetensors_check_length(c, tensor);
}

static inline int bw_safetensors_by_name(const void* a, const void* b) {
  const bw_safetensors_tensor* x = *(const bw_safetensors_tensor* const*)a;
  const bw_safetensors_tensor* y = *(const bw_safetensors_tensor* const*)b;
  const uint32_t shorter = x->name_bytes < y->name_bytes ? x->name_bytes : y->name_bytes;
  const int order = memcmp(x->name, y->name, shorter);
  return order != 0 ? order : x->name_bytes < y->name_bytes ? -1 : x->name_bytes > y->name_bytes;
}

static inline int bw_safetensors_by_offset(const void* a, const void* b) {
  const bw_safetensors_tensor* x = *(const bw_safetensors_tensor* const*)a;
  const bw_safetensors_tensor* y = *(const bw_safetensors_tensor* const*)b;
  if (x->offset != y->offset) {
    return x->offset < y->offset ? -1 : 1;
  }
  return x->length_bytes < y->length_bytes ? -1 : x->length_bytes > y->length_bytes;
}

/* Every name once, the data without gap or overlap to the end; makes the offsets absolute. */
static inline bw_safetensors_status bw_safetensors_check_table(
    bw_safetensors_cursor* c, bw_safetensors_table* table, const bw_safetensors_tensor** order,
    uint64_t length_bytes) {
  uint64_t next = 0;
  for (uint32_t i = 0; i < table->count; i++) {
    order[i] = &table->tensors[i];
  }
  if (table->count > 1) {
    qsort(order, table->count, sizeof *order, bw_safetensors_by_name);
    for (uint32_t i = 1; i < table->count; i++) {
      if (bw_safetensors_by_name(&order[i - 1], &order[i]) == 0) {
        return bw_safetensors_corrupt(c, "name occurs twice");
      }
    }
    qsort(order, table->count, sizeof *order, bw_safetensors_by_offset);
  }
  for (uint32_t i = 0; i < table->count; i++) {
    if (order[i]->offset != next) {
      return bw_safetensors_corrupt(c, "gap or overlap between tensors");
    }
    next += order[i]->length_bytes; /* each is below 2^63: a wrap shows as a gap or a wrong end */
    if (next > length_bytes) {
      return bw_safetensors_corrupt(c, "tensor ends behind the slice");
    }
  }
  if (next != length_bytes - table->data_offset) {
    return bw_safetensors_corrupt(c, "data ends before or behind the slice");
  }
  for (uint32_t i = 0; i < table->count; i++) {
    table->tensors[i].offset += table->data_offset;
  }
  return BW_SAFETENSORS_OK;
}

/* The arena holds, for any header of this length: tensors, their order, sizes, texts. */
static inline bw_safetensors_status bw_safetensors_reserve(
    bw_safetensors_cursor* c, bw_safetensors_table* table, size_t header_bytes,
    uint32_t* capacity, const bw_safetensors_tensor*** order) {
  const size_t shortest = 48; /* no tensor's JSON is shorter: "":{"dtype":"U8","shape":[], ... */
  *capacity = (uint32_t)(header_bytes / shortest + 1);
  const size_t tensors_bytes = *capacity * sizeof(bw_safetensors_tensor);
  const size_t order_bytes = *capacity * sizeof(void*);
  const size_t sizes_bytes = (header_bytes / 2 + 1) * sizeof(int64_t); /* one digit, one comma */
  const size_t needed = tensors_bytes + order_bytes + sizes_bytes + header_bytes + 1;
  if (table->arena_bytes < needed) {
    free(table->arena);
    table->arena = malloc(needed);
    table->arena_bytes = table->arena == NULL ? 0 : needed;
    if (table->arena == NULL) {
      return bw_safetensors_fail(c, BW_SAFETENSORS_NO_MEMORY, "no memory for the header");
    }
  }
  char* at = (char*)table->arena;
  table->tensors = (bw_safetensors_tensor*)(void*)at;
  *order = (const bw_safetensors_tensor**)(void*)(at + tensors_bytes);
  c->sizes = (int64_t*)(void*)(at + tensors_bytes + order_bytes);
  c->text = at + tensors_bytes + order_bytes + sizes_bytes;
  return BW_SAFETENSORS_OK;
}

static inline bw_safetensors_status bw_safetensors_entries(
    bw_safetensors_cursor* c, bw_safetensors_table* table, uint32_t capacity) {
  bool metadata = false;
  if (bw_safetensors_take(c, '}')) {
    return BW_SAFETENSORS_OK;
  }
  do {
    size_t bytes = 0;
    bw_safetensors_status status = bw_safetensors_text(c, &bytes);
    if (status == BW_SAFETENSORS_OK && !bw_safetensors_take(c, ':')) {
      status = bw_safetensors_corrupt(c, "':' expected");
    }
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
    if (bw_safetensors_is(c, bytes, "__metadata__")) {
      status = metadata ? bw_safetensors_corrupt(c, "__metadata__ occurs twice")
                        : bw_safetensors_metadata(c);
      metadata = true;
    } else if (table->count == capacity) {
      status = bw_safetensors_corrupt(c, "more tensors than a header of this length can name");
    } else {
      bw_safetensors_tensor* tensor = &table->tensors[table->count];
      memset(tensor, 0, sizeof *tensor);
      tensor->name = c->text;
      tensor->name_bytes = (uint32_t)bytes;
      c->text += bytes + 1;
      status = bw_safetensors_tensor_value(c, tensor);
      table->count++;
    }
    if (status != BW_SAFETENSORS_OK) {
      return status;
    }
  } while (bw_safetensors_take(c, ','));
  return bw_safetensors_take(c, '}') ? BW_SAFETENSORS_OK
                                     : bw_safetensors_corrupt(c, "',' or '}' expected");
}

/*
 * Reads the header of the slice `bytes`. On BW_SAFETENSORS_OK the table lists its tensors; else
 * the table is empty and `error` says where and why. The table is used again or freed by the
 * caller. Allocates at most about seven times the header's length.
 */
static inline bw_safetensors_status bw_safetensors_parse(
    const void* bytes, uint64_t length_bytes, bw_safetensors_table* table,
    bw_safetensors_error* error) {
  bw_safetensors_cursor c;
  memset(&c, 0, sizeof c);
  c.begin = (const uint8_t*)bytes;
  c.at = c.begin;
  c.error = error;
  table->count = 0;
  if (length_bytes < 8) {
    return bw_safetensors_corrupt(&c, "slice shorter than 8 bytes");
  }
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; i--) {
    header_bytes = header_bytes << 8 | c.begin[i];
  }
  if (header_bytes > length_bytes - 8) {
    return bw_safetensors_corrupt(&c, "header ends behind the slice");
  }
  if (header_bytes > BW_SAFETENSORS_HEADER_BYTES) {
    return bw_safetensors_fail(&c, BW_SAFETENSORS_LIMIT, "header longer than 100 MB");
  }
  uint32_t capacity = 0;
  const bw_safetensors_tensor** order = NULL;
  bw_safetensors_status status =
      bw_safetensors_reserve(&c, table, (size_t)header_bytes, &capacity, &order);
  if (status != BW_SAFETENSORS_OK) {
    return status;
  }
  table->data_offset = 8 + header_bytes;
  c.at = c.begin + 8;
  c.end = c.begin + 8 + header_bytes;
  if (c.at == c.end || *c.at != '{') {
    return bw_safetensors_corrupt(&c, "header does not begin with '{'");
  }
  c.at++;
  status = bw_safetensors_entries(&c, table, capacity);
  if (status == BW_SAFETENSORS_OK) {
    bw_safetensors_blank(&c);
    status = c.at == c.end ? bw_safetensors_check_table(&c, table, order, length_bytes)
                           : bw_safetensors_corrupt(&c, "bytes after the header's object");
  }
  if (status != BW_SAFETENSORS_OK) {
    table->count = 0;
  }
  return status;
}

/* Frees what the table holds; it is an empty one afterwards. */
static inline void bw_safetensors_free(bw_safetensors_table* table) {
  free(table->arena);
  memset(table, 0, sizeof *table);
}

#ifdef __cplusplus
}
#endif
#endif /* BATCHWEAVE_SAFETENSORS_H */
