#include "collect/gpu/silence.h"

namespace sonde {

void Silence::Add(TraceWriter& out, std::string_view what, int64_t since_ns,
                  int64_t now_ns) {
  if (!lasts_ && losses_ < kMostLosses) {
    loss_ = {"device-silent", std::string(what), 0, since_ns, now_ns};
    handle_ = out.AddLoss(loss_);
    ++losses_;
  }
  lasts_ = true;
  ++loss_.count;
  Last(out, now_ns);
}

void Silence::Last(TraceWriter& out, int64_t now_ns) {
  if (!lasts_) return;
  loss_.to_ns = now_ns;
  out.UpdateLoss(handle_, loss_);
}

void Silence::End(TraceWriter& out, int64_t now_ns) {
  Last(out, now_ns);
  lasts_ = false;
}

}  // namespace sonde
