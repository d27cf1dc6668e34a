#!/bin/sh
# A simulated npu-smi with a card of two NPUs (4) and a card of one (7). A test
# links it as "npu-smi" into a directory of PATH; SONDE_SIM_NPU_SMI says what it
# does when it is asked for values: works, garbage, fails, hangs, floods. It
# writes what it is asked into the file SONDE_SIM_NPU_SMI_LOG.

line() { printf '\t%-30s : %s\n' "$1" "$2"; }

common() { # chip, busy
  printf '\n'
  line "Chip ID" "$1"
  line "Memory Usage Rate(%)" 0
  line "HBM Usage Rate(%)" 25
  line "Aicore Usage Rate(%)" "$2"
  line "Aicore Freq(MHZ)" 1850
  line "Aicore curFreq(MHZ)" 800
  line "Aicore Count" 25
  line "Temperature(C)" 38
  line "NPU Real-time Power(W)" 91.8
}

usages() { # chip, busy
  printf '\n'
  line "DDR Capacity(MB)" 0
  line "DDR Usage Rate(%)" 0
  line "HBM Capacity(MB)" 65536
  line "HBM Usage Rate(%)" 25
  line "Aicore Usage Rate(%)" "$2"
  line "DDR Bandwidth Usage Rate(%)" 0
  line "HBM Bandwidth Usage Rate(%)" 31
  line "Chip ID" "$1"
}

echo "$*" >>"$SONDE_SIM_NPU_SMI_LOG"
if [ "$*" = "info -l" ]; then
  line "Total Count" 2
  printf '\n'
  line "NPU ID" 4
  line "Chip Count" 2
  printf '\n'
  line "NPU ID" 7
  line "Chip Count" 1
  exit 0
fi
case "$SONDE_SIM_NPU_SMI" in
  garbage) printf 'Aicore Usage Rate(%%) 5\n\001:::\nChip ID : x\n'; exit 0 ;;
  fails) common 0 40; exit 1 ;;
  hangs) exec sleep 100 ;;
  floods) exec yes "Aicore Usage Rate(%) : 5" ;;
esac
case "$*" in
  "info -t common -i 4")
    line "NPU ID" 4
    line "Chip Count" 2
    common 0 40
    common 1 41
    printf '\n'
    line "Chip Name" mcu
    line "Temperature(C)" 99 ;;
  "info -t usages -i 4") usages 0 40; usages 1 41 ;;
  "info -t common -i 7") common 0 70 ;;
  "info -t usages -i 7") usages 0 70 ;;
  *) echo "Error parameter"; exit 1 ;;
esac
