-- How a JobSet (jobset.x-k8s.io) or a TrainJob (trainer.kubeflow.org) fares: its conditions say so, an end first.
-- A job that runs is Progressing, as a Job of Kubernetes is: what waits for it waits until it has ended.

local healths = {
  {"Failed", "Degraded"},
  {"Completed", "Healthy"},
  {"Complete", "Healthy"},
  {"Suspended", "Suspended"},
}

local status = type(obj.status) == "table" and obj.status or {}
local conditions = {}
for _, condition in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(condition) == "table" and condition.status == "True" and type(condition.type) == "string" then
    conditions[condition.type] = type(condition.message) == "string" and condition.message or ""
  end
end
for _, pair in ipairs(healths) do
  local message = conditions[pair[1]]
  if message ~= nil then
    return {status = pair[2], message = message ~= "" and message or "The job is " .. pair[1] .. "."}
  end
end
return {status = "Progressing", message = "The job has not ended."}
