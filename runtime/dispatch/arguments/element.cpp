#include "arguments/element.h"

namespace dispatch {

int element_named(const std::string &name) {
  for (int i = 0; i < element_count; ++i)
    if (name == elements[i].name)
      return i;
  return -1;
}

int element_of_dlpack(const DlTensor &tensor) {
  for (int i = 0; i < element_count; ++i)
    if (elements[i].code == tensor.code && elements[i].bits == tensor.bits)
      return tensor.lanes == 1 ? i : -1;
  return -1;
}

int element_of_typestr(const char *text, size_t size) {
  if (size != 3 || (text[0] != '<' && text[0] != '|') || !text[1])
    return -1;
  for (int i = 0; i < element_count; ++i)
    if (elements[i].kind == text[1] && elements[i].size_bytes == text[2] - '0')
      return i;
  return -1;
}

} // namespace dispatch
