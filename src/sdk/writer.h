// The library's side of writing a record: everything that is not the fast path
// of include/sonde/abi.h.

#ifndef SONDE_SDK_WRITER_H_
#define SONDE_SDK_WRITER_H_

#include "sdk/process.h"

namespace sonde::guest {

// A record to be written, but for its words.
struct Draft {
  uint32_t id;
  uint8_t kind;
  uint8_t words;
  int8_t step;  // of the depth
};

// Room for one record, from Open() to Close(). Null `words`: it was dropped and
// counted, and there is nothing to close.
//
//  - Records of one thread are in order, and whole or absent.
//  - A record inside another, from a signal handler, is dropped.
//  - When no block is free it goes to the shared overflow; if that is taken or
//    full, it is dropped.
struct Room {
  Writer* own;   // of this thread
  Writer* into;  // own, or the overflow
  uint64_t* words;
  uint32_t version;
};

Room Open(const Draft& draft);
void Close(const Room& room, const Draft& draft);

// Called by the system when a thread ends: gives back what it had.
void EndThread(void* writer);

// Looks for a session and, if there is one, makes this process part of it.
// `directory` is what SONDE_SESSION says. Once in a process.
void Start(const char* directory);

// Makes the files of this process. False: nothing can be recorded, or another
// thread is doing it right now.
bool Attach(Process* p);

}  // namespace sonde::guest

#endif  // SONDE_SDK_WRITER_H_
