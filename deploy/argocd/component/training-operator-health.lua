-- How a job of the Kubeflow Training Operator (kubeflow.org/v1) fares: its conditions say so, the last true one counts.
-- A job that runs is Progressing, as a Job of Kubernetes is: what waits for it waits until it has ended.

local healths = {
  Failed = "Degraded",
  Succeeded = "Healthy",
  Suspended = "Suspended",
}

local function text(value)
  return type(value) == "string" and value or ""
end

local status = type(obj.status) == "table" and obj.status or {}
local last
for _, condition in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(condition) == "table" and condition.status == "True" then
    last = condition
  end
end
if last == nil then
  return {status = "Progressing", message = "The operator has not taken up the job."}
end
local message = text(last.message)
return {
  status = healths[text(last.type)] or "Progressing",
  message = message ~= "" and message or "The job is " .. text(last.type) .. ".",
}
