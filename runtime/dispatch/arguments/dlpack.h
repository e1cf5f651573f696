// The binary interface of DLPack 1.3 (dlpack.h), as far as a launch reads it.
#pragma once

#include <cstdint>

namespace dispatch {

// DLDeviceType.
constexpr int32_t device_cpu = 1, device_cuda = 2, device_cuda_host = 3, device_cuda_managed = 13;

/// DLTensor; extents and strides count elements, and null strides are those of a row-major array.
struct DlTensor {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
};

/// DLPackExchangeAPIHeader.
struct ExchangeHeader {
  uint32_t major;
  uint32_t minor;
  ExchangeHeader *previous;
};

/// DLPackExchangeAPI of major version 1. Functions return 0, or -1 with a Python exception.
struct ExchangeTable {
  ExchangeHeader header;
  void *allocate;
  void *managed_from_object;
  void *managed_to_object;
  int (*borrow)(void *object, DlTensor *tensor);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
};

constexpr uint32_t exchange_major_version = 1;

} // namespace dispatch
