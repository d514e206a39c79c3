-- How a training job of batch.tensorstack.dev fares, for every kind: they all have the same status.
-- A job that runs is Progressing, as a Job of Kubernetes is: what waits for it waits until it has ended.

local function text(value)
  return type(value) == "string" and value or ""
end

local status = type(obj.status) == "table" and obj.status or {}
local conditions = {}
for _, condition in ipairs(type(status.conditions) == "table" and status.conditions or {}) do
  if type(condition) == "table" then
    conditions[text(condition.type)] = condition
  end
end

local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

local function said(name, otherwise)
  local message = conditions[name] ~= nil and text(conditions[name].message) or ""
  return message ~= "" and message or otherwise
end

local phase = text(status.phase)

-- A job that has failed is Completed, too: Failed is looked at first.
if phase == "Failed" or is_true("Failed") then
  return {status = "Degraded", message = said("Failed", said("ReplicaFailure", "The job has failed."))}
end
if phase == "Succeeded" or is_true("Completed") then
  return {status = "Healthy", message = said("Completed", "The job has finished.")}
end
if phase == "Resuming" then
  return {status = "Progressing", message = "The job is about to go on."}
end
if phase == "Paused" or (phase ~= "Running" and is_true("Paused")) then
  return {status = "Suspended", message = said("Paused", "The job is paused.")}
end
if phase == "Unknown" then
  return {status = "Unknown", message = "The controller does not know how the job fares."}
end
if is_true("ReplicaFailure") then
  return {status = "Progressing", message = said("ReplicaFailure", "A replica has failed.")}
end
if phase == "Running" or is_true("Running") then
  return {status = "Progressing", message = said("Running", "The job runs.")}
end
if phase == "" and next(conditions) == nil then
  return {status = "Progressing", message = "The controller has not looked at the job yet."}
end
return {status = "Progressing", message = said("Initialized", "The job has not started yet.")}
