// A simulated DCMI with one card of two NPUs, built as libdcmi.so in
// build/tests/sim. They always say the same.

#include <cstring>

extern "C" {

int dcmi_init() { return 0; }

int dcmi_get_card_list(int* count, int* cards, int) {
  *count = 1;
  cards[0] = 4;
  return 0;
}

int dcmi_get_device_num_in_card(int, int* count) {
  *count = 2;
  return 0;
}

int dcmi_get_device_chip_info(int, int, void* info) {
  struct Chip {
    char type[32], name[32], version[32];
    unsigned cores;
  };
  strcpy(static_cast<Chip*>(info)->name, "Simulated NPU");
  return 0;
}

int dcmi_get_device_utilization_rate(int card, int device, int type,
                                     unsigned* rate) {
  if (card != 4 || type != 2) return -8255;  // not supported
  *rate = device == 0 ? 70 : 10;
  return 0;
}

int dcmi_get_device_hbm_info(int, int, void* info) {
  struct Hbm {
    unsigned long long size;
    unsigned frequency;
    unsigned long long used;
    int temperature;
    unsigned bandwidth;
  };
  *static_cast<Hbm*>(info) = {32768, 1200, 8192, 45, 33};
  return 0;
}

int dcmi_get_device_power_info(int, int, int* tenths) {
  *tenths = 3105;
  return 0;
}

int dcmi_get_device_temperature(int, int, int* celsius) {
  *celsius = 51;
  return 0;
}
}
